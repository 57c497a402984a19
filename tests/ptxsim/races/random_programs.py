"""Random parallel programs in PTX, and how the simulator runs one.

A program has a few blocks, a few statements, and for each statement a random set of threads at random places: loads and
stores of 1 to 16 bytes in shared and global memory, plain and strong, atomics, barriers of all kinds, asynchronous
copies, fences and flags, exits. Its statements are straight PTX under predicates, so the order of the text is a legal
one."""

from collections.abc import Callable

import numpy as np

from ptxsim import launch
from ptxsim.front.kernel import Kernel
from ptxsim.machine.decode import Code
from ptxsim.ptx import program as ptx
from tests.ptxsim.races.happens_before import FAR, NEAR, Program, Statement

SHARED, GLOBAL = 96 * 16, 3 * 96 * 16  # bytes: 16 for each thread
TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "v4.u32"}
SCOPES = {NEAR: "cta", FAR: "gpu"}

# --------------------------------------------------------------------------- programs


class Generator:
    """Makes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        blocks = int(self.random.choice([1, 1, 2, 2, 3]))
        threads = int(self.random.choice([32, 40, 64, 64, 96]))
        self.p = Program(blocks, threads, SHARED, GLOBAL)
        self.n = blocks * threads
        self.thread = np.arange(self.n) % threads
        self.copied = self.exited = False

    def program(self) -> Program:
        self.start()
        steps: list[tuple[Callable[[], None], float]] = [
            (self.access, 10), (self.barrier, 2), (self.named, 1), (self.warp_sync, 2), (self.copy, 1.5),
            (self.atomic, 1.5), (self.message, 2), (self.exit, 0.3), (self.two_barriers, 0.3),
            (self.last_block, 0.4),
        ]  # fmt: skip
        weights = np.array([weight for _, weight in steps])
        for _ in range(int(self.random.integers(4, 14))):
            steps[self.random.choice(len(steps), p=weights / weights.sum())][0]()
        return self.p

    def add(self, kind: str, who: np.ndarray, **more) -> None:
        self.p.statements.append(Statement(kind, who, **more))

    def start(self) -> None:
        """All of shared memory is written, and everybody knows it."""
        for first in range(0, SHARED, 16 * self.p.threads):
            at = first + self.thread * 16
            self.add("store", at < SHARED, at=at % SHARED, size=16, values=self.values())
        self.add("barrier", np.ones(self.n, bool))

    # ---- who, where, what

    def who(self) -> np.ndarray:
        """A random set of threads: a few, some of a warp, whole warps, nearly all; of one block or of all."""
        pick = self.random.integers(5)
        if pick == 0:
            chosen = np.isin(self.thread, self.random.choice(self.p.threads, 2, replace=False))
        elif pick == 1:
            chosen = self.random.random(self.n) < 0.4
        elif pick == 2:
            chosen = self.thread // 32 == self.random.integers(-(-self.p.threads // 32))
        elif pick == 3:
            chosen = self.thread % 32 < self.random.integers(1, 32)
        else:
            chosen = np.ones(self.n, bool)
        if self.random.random() < 0.3:
            chosen &= np.arange(self.n) // self.p.threads == self.random.integers(self.p.blocks)
        return chosen

    def at(self, size: int, room: int) -> np.ndarray:
        """A place for each thread: mostly in its own 16 bytes, or in its neighbour's; one for all; or any."""
        places = room // size
        pick = self.random.random()
        owner = np.arange(self.n) if room == GLOBAL else self.thread
        if pick < 0.75:
            owner = owner + (self.random.integers(1, 3) if pick > 0.6 else 0)
            return owner * 16 % room + self.random.integers(16 // size) * size
        if pick < 0.85:
            return np.full(self.n, self.random.integers(places)) * size
        return self.random.integers(0, places, self.n) * size

    def values(self) -> np.ndarray:
        if self.random.random() < 0.15:
            return np.full((self.n, 16), self.random.integers(256), np.uint8)
        return self.random.integers(0, 256, (self.n, 16)).astype(np.uint8)

    def space(self) -> tuple[str, int]:
        return ("shared", SHARED) if self.random.random() < 0.6 else ("global", GLOBAL)

    # ---- statements

    def access(self) -> None:
        space, room = self.space()
        size = int(self.random.choice([1, 2, 4, 4, 8, 16]))
        strong = size <= 8 and self.random.random() < 0.2
        kind = "load" if self.random.random() < 0.5 else "store"
        more = {"scope": int(self.random.choice([NEAR, FAR, FAR]))} if strong else {}
        self.add(
            kind,
            self.who(),
            at=self.at(size, room),
            size=size,
            space=space,
            values=self.values(),
            strong=strong,
            **more,
        )

    def barrier(self) -> None:
        self.add("barrier", np.ones(self.n, bool))

    def two_barriers(self) -> None:
        """Whole warps at two textual barriers: the hardware counts them together."""
        warp = self.thread // 32 == 0
        self.add("barrier", np.ones(self.n, bool), masks=warp)

    def named(self) -> None:
        """Some warps arrive, others wait, or all wait; in every block."""
        warps = np.arange(-(-self.p.threads // 32))
        roles = self.random.integers(0, 3, len(warps))  # 0: not there, 1: arrives, 2: waits
        if (roles == 2).sum() == 0 or self.exited:
            return
        role, number = roles[self.thread // 32], int(self.random.integers(1, 4))
        count = int(32 * (roles > 0).sum())
        pair = [("arrive", role == 1), ("sync", role == 2)]
        hands_over = (roles == 1).any() and self.random.random() < 0.7
        if hands_over:
            self.add("store", role == 1, at=self.thread * 16, values=self.values())
        for kind, who in pair:
            if who.any():
                self.add(kind, who, number=number, count=count)
        if hands_over:
            from_warp = int(self.random.choice(np.flatnonzero(roles == 1)))
            theirs = np.minimum(from_warp * 32 + self.thread % 32, self.p.threads - 1)
            self.add("load", role == 2, at=theirs * 16)

    def last_block(self) -> None:
        """Every block writes, raises a counter behind a fence, and the last one reads what the others wrote."""
        place = GLOBAL - 4
        if self.p.blocks == 1 or self.n * 16 > place or self.exited:
            return
        everyone, block = np.ones(self.n, bool), np.arange(self.n) // self.p.threads
        first, last = self.thread == 0, block == self.p.blocks - 1
        scope = int(self.random.choice([NEAR, FAR, FAR, FAR]))
        own = np.arange(self.n) * 16
        self.add("store", everyone, at=own, space="global", values=self.values())
        self.add("fence", everyone if self.random.random() < 0.5 else first, scope=scope)
        self.barrier()
        self.add(
            "atomic",
            first,
            at=np.full(self.n, place),
            space="global",
            values=self.values(),
            strong=True,
            scope=FAR,
        )
        if self.random.random() < 0.8:
            self.add("fence", first, scope=FAR)
        if self.random.random() < 0.8:
            self.barrier()
        self.add("load", last, at=(own - self.p.threads * 16) % (self.n * 16), space="global")

    def warp_sync(self) -> None:
        lane = self.thread % 32
        pick = self.random.integers(4)
        if pick == 0:
            who, masks = np.ones(self.n, bool), np.full(self.n, 0xFFFFFFFF)
        elif pick == 1:  # two halves, each with its mask
            who, masks = np.ones(self.n, bool), np.where(lane < 16, 0xFFFF, 0xFFFF0000)
        else:
            bits = int(self.random.integers(1, 2**32))
            who, masks = (bits >> lane & 1).astype(bool), np.full(self.n, bits)
        exchange = self.random.random() < 0.4
        if exchange:
            self.add("store", who, at=self.thread * 16, values=self.values())
        self.add("warp_sync", who, masks=masks.astype(np.uint32))
        if exchange:
            beside = np.minimum(self.thread ^ 1, self.p.threads - 1)
            self.add("load", who, at=beside * 16)

    def copy(self) -> None:
        size = int(self.random.choice([4, 8, 16]))
        for _ in range(self.random.integers(1, 3)):
            at, source = self.at(size, SHARED), self.at(size, GLOBAL)
            self.add("copy", self.who(), at=at, source=source, size=size)
            if self.random.random() < 0.8:
                self.add("commit", np.ones(self.n, bool))
        if self.random.random() < 0.85:
            self.add(
                "wait",
                self.who() if self.random.random() < 0.2 else np.ones(self.n, bool),
                number=int(self.random.integers(0, 2)),
            )
        if self.random.random() < 0.7:
            self.barrier()

    def atomic(self) -> None:
        space, room = self.space()
        scope = int(self.random.choice([NEAR, FAR, FAR]))
        self.add(
            "atomic",
            self.who(),
            at=self.at(4, room),
            space=space,
            values=self.values(),
            strong=True,
            scope=scope,
        )

    def message(self) -> None:
        """Some threads raise a flag, others read it; with fences or not, at the right scope or not."""
        space, room = self.space()
        place = int(self.random.integers(room // 4)) * 4
        at = np.full(self.n, place)
        kind = str(self.random.choice(["store", "atomic"]))
        scope, fence_scope = (int(self.random.choice([NEAR, FAR, FAR, FAR])) for _ in range(2))
        writers = np.isin(
            np.arange(self.n), self.random.choice(self.n, self.random.integers(1, 3), replace=False)
        )
        readers = self.who()
        flag = {"at": at, "space": space, "values": self.values(), "strong": True, "scope": scope}
        if self.random.random() < 0.3 and space == "global":
            self.add(
                "fence", np.ones(self.n, bool) if self.random.random() < 0.5 else writers, scope=fence_scope
            )
            self.barrier()
        elif self.random.random() < 0.7:
            self.add("fence", writers, scope=fence_scope)
        self.add(kind, writers, release=self.random.random() < 0.3, **flag)
        if self.random.random() < 0.3:  # the chain goes on, or begins anew
            other = np.isin(np.arange(self.n), self.random.choice(self.n, 1))
            self.add(str(self.random.choice(["store", "atomic"])), other, **flag)
        self.add(
            str(self.random.choice(["load", "atomic"])), readers, acquire=self.random.random() < 0.3, **flag
        )
        if self.random.random() < 0.8:
            self.add("fence", readers, scope=fence_scope)
        self.access()

    def exit(self) -> None:
        """Whole warps, or the last lanes of the block; not before a named barrier, which would wait for them."""
        if self.exited:
            return
        self.exited = True
        gone = self.thread >= self.random.integers(self.p.threads // 2, self.p.threads)
        self.add("store", gone, at=self.thread * 16, values=self.values())
        self.add("exit", gone)
        if self.random.random() < 0.8:
            self.barrier()
        self.add("load", ~gone, at=(self.p.threads - 1 - self.thread) * 16)


class BulkGenerator(Generator):
    """With bulk stores out of shared memory, and the fences that they need."""

    def program(self) -> Program:
        self.start()
        steps = [
            self.access,
            self.barrier,
            self.named,
            self.warp_sync,
            self.message,
            self.atomic,
            self.hand_on,
        ]
        for _ in range(int(self.random.integers(3, 8))):
            if self.random.random() < 0.5:
                self.proxy_fence()
            steps[self.random.integers(len(steps))]()
            if self.random.random() < 0.3:
                self.proxy_fence()
            if self.random.random() < 0.6:
                self.bulk_store()
        return self.p

    def hand_on(self) -> None:
        """All write, some or all make a fence, before a barrier or behind it."""
        self.add("store", self.who(), at=self.thread * 16, values=self.values())
        steps = [self.barrier, self.proxy_fence]
        for step in steps if self.random.random() < 0.3 else reversed(steps):
            step()
        self.bulk_store()

    def proxy_fence(self) -> None:
        self.add("proxy_fence", self.who() if self.random.random() < 0.6 else np.ones(self.n, bool))

    def bulk_store(self) -> None:
        """By a few threads."""
        chosen = np.isin(self.thread, self.random.choice(self.p.threads, 3, replace=False))
        self.add("bulk_store", chosen, at=self.at(16, SHARED), size=16)


# --------------------------------------------------------------------------- PTX


def assemble(program: Program) -> str:
    """PTX of a program. Statement i stands in line i + 1; its threads, places and values come out of tables."""
    lines = [
        line
        for i, s in enumerate(program.statements)
        for line in [f".loc 1 {i + 1} 0", *_statement(i, s, program)]
    ]
    target = "90" if any(s.kind == "bulk_store" for s in program.statements) else "80"
    return f""".version 8.0
.target sm_{target}
.address_size 64
.visible .entry k(.param .u64 p_data, .param .u64 p_who, .param .u64 p_at, .param .u64 p_values, .param .u64 p_out)
{{
.shared .align 16 .b8 tile[{program.shared}];
.reg .pred %p, %q;
.reg .b16 %h;
.reg .b32 %i, %t, %n, %w, %a, %c, %m, %v0, %v1, %v2, %v3, %x0, %x1, %x2, %x3;
.reg .b64 %data, %who, %at, %values, %out, %off, %ga, %gs, %d, %wide;
ld.param.u64 %data, [p_data];
ld.param.u64 %who, [p_who];
ld.param.u64 %at, [p_at];
ld.param.u64 %values, [p_values];
ld.param.u64 %out, [p_out];
mov.u32 %t, %ctaid.x;
mov.u32 %n, %ntid.x;
mov.u32 %i, %tid.x;
mad.lo.u32 %i, %t, %n, %i;
{chr(10).join(lines)}
ret;
}}
.file 1 "kernel.cu"
"""


def _statement(i: int, s: Statement, program: Program) -> list[str]:
    n = program.blocks * program.threads
    lines = [
        f"add.u32 %t, %i, {i * n};", "cvt.u64.u32 %off, %t;", "add.u64 %d, %who, %off;",
        "ld.global.u8 %w, [%d];", "setp.ne.u32 %p, %w, 0;",
    ]  # fmt: skip
    if s.at is not None or s.masks is not None:
        lines += [
            "mul.wide.u32 %off, %t, 8;", "add.u64 %d, %at, %off;", "ld.global.v2.u32 {%a, %c}, [%d];",
            "cvt.u64.u32 %off, %a;", "add.u64 %ga, %data, %off;",
            "cvt.u64.u32 %off, %c;", "add.u64 %gs, %data, %off;",
            "mov.u32 %m, tile;", "add.u32 %m, %m, %a;",
        ]  # fmt: skip
    if s.values is not None:
        lines += [
            "mul.wide.u32 %off, %t, 16;", "add.u64 %d, %values, %off;",
            "ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%d];", "mov.b64 %wide, {%v0, %v1};", "cvt.u16.u32 %h, %v0;",
        ]  # fmt: skip
    return lines + _instruction(s)


def _instruction(s: Statement) -> list[str]:
    place = "[%m]" if s.space == "shared" else "[%ga]"
    value = {1: "%h", 2: "%h", 4: "%v0", 8: "%wide", 16: "{%v0, %v1, %v2, %v3}"}[s.size]
    scope = SCOPES[s.scope]
    match s.kind:
        case "load":
            order = (f".acquire.{scope}" if s.acquire else f".relaxed.{scope}") if s.strong else ""
            into = {1: "%h", 2: "%h", 4: "%x0", 8: "%wide", 16: "{%x0, %x1, %x2, %x3}"}[s.size]
            return [f"@%p ld{order}.{s.space}.{TYPES[s.size]} {into}, {place};"]
        case "store":
            order = (f".release.{scope}" if s.release else f".relaxed.{scope}") if s.strong else ""
            return [f"@%p st{order}.{s.space}.{TYPES[s.size]} {place}, {value};"]
        case "atomic":
            order = {(0, 0): "relaxed", (1, 0): "acquire", (0, 1): "release", (1, 1): "acq_rel"}
            return [f"@%p atom.{order[s.acquire, s.release]}.{scope}.{s.space}.add.u32 %x0, {place}, %v0;"]
        case "barrier" if s.masks is not None:
            return ["setp.ne.u32 %q, %w, 2;", "@%q bar.sync 0;", "setp.eq.u32 %q, %w, 2;", "@%q bar.sync 0;"]
        case "barrier":
            return ["bar.sync 0;"]
        case "arrive" | "sync":
            return [f"@%p bar.{s.kind} {s.number}, {s.count};"]
        case "warp_sync":
            return ["@%p bar.warp.sync %c;"]
        case "copy":
            cache = "cg" if s.size == 16 else "ca"
            return [f"@%p cp.async.{cache}.shared.global [%m], [%gs], {s.size};"]
        case "commit":
            return ["cp.async.commit_group;"]
        case "wait":
            return [f"@%p cp.async.wait_group {s.number};"]
        case "proxy_fence":
            return ["@%p fence.proxy.async.shared::cta;"]
        case "bulk_store":
            return [
                "mul.wide.u32 %off, %t, 16;", "add.u64 %d, %out, %off;",
                "@%p cp.async.bulk.global.shared::cta.bulk_group [%d], [%m], 16;",
                "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;",
            ]  # fmt: skip
        case "fence":
            return [f"@%p fence.acq_rel.{scope};"]
        case "exit":
            return ["@%p exit;"]
    raise ValueError(s.kind)


def run(program: Program, seed: int | None = None):
    """The simulator's report."""
    n, statements = program.blocks * program.threads, program.statements
    who = np.zeros((len(statements), n), np.uint8)
    at = np.zeros((len(statements), n, 2), np.uint32)
    values = np.zeros((len(statements), n, 16), np.uint8)
    for i, s in enumerate(statements):
        who[i] = s.who
        if s.kind == "barrier" and s.masks is not None:
            who[i] = np.where(s.masks, 2, 1)
        if s.at is not None:
            at[i, :, 0] = s.at
        if s.source is not None:
            at[i, :, 1] = s.source
        if s.kind == "warp_sync":
            at[i, :, 1] = s.masks
        if s.values is not None:
            values[i] = s.values
    text = assemble(program)
    code = Code(ptx.link(ptx.parse(text), "k"), {})
    names = tuple((name, True) for name in ("data", "who", "at", "values", "out"))
    kernel = Kernel("k", "k", "\n".join(s.kind for s in statements), (), (), text, names, code, ())
    arguments = (
        initial_data(program),
        who,
        at,
        values,
        np.zeros_like(values),
    )  # a bulk store's place is its own
    return launch(kernel, (program.blocks,), (program.threads,), arguments, seed=seed)


def initial_data(program: Program) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, program.globals).astype(np.uint8)
