"""PTX text to a program: instructions with operands, jump targets, source lines and call lines.

Two passes. `parse` reads the text into functions made of statements, with names as written. `link` turns one
kernel into a flat list of instructions: names become register numbers and addresses, and every call of a
device function is replaced by the function's body (PTX ISA 7.1; so there is no call stack, and no recursion). A call
through a pointer is replaced by the bodies of all functions that it may lead to, and a jump to one of them.
"""

import math
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from . import limits
from .facts import not_simulated
from .limits import shown, whole
from .opcode import DTYPES, Opcode, UnsupportedInstruction, opcode_of

# --------------------------------------------------------------------------- what a program is made of


@dataclass(frozen=True)
class Register:
    """A virtual register: its number in the machine's register file, and its width in bits (1 = predicate)."""

    index: int
    bits: int
    negated: bool = False


@dataclass(frozen=True)
class Immediate:
    text: str

    def value(self, dtype: np.dtype) -> np.ndarray:
        """The constant as an array of shape (1,)."""
        return np.array([_number(self.text, dtype)]).astype(dtype)


@dataclass(frozen=True)
class Special:
    """A special register such as %tid.x (PTX ISA chapter 10)."""

    name: str


@dataclass(frozen=True)
class Variable:
    """A named piece of memory. `space` is param, shared, local, global or const; `offset` counts within it.
    `addresses`: where in `data` the address of another one belongs, its name, and what is added. `kind`: of one number
    its type, such as "f32"; of several, or bytes, ""."""

    name: str
    space: str
    size: int
    align: int
    offset: int = 0
    data: bytes = b""
    addresses: tuple[tuple[int, str, int], ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Address:
    """[base + offset]; base is a register, a variable, or None for an absolute address. `coordinates`: of a tensor
    copy, where in the array that a map at this address describes."""

    base: Register | Variable | None
    offset: int
    coordinates: tuple = ()


@dataclass(frozen=True)
class Vector:
    items: tuple


@dataclass(frozen=True)
class Pair:
    """Two destinations, written `%r1|%p1`."""

    first: object
    second: object


@dataclass(frozen=True)
class Target:
    """A place to jump to: the index of an instruction."""

    pc: int


@dataclass(frozen=True)
class Where:
    """The learner's own line, the line that called the helper it stands in, and the header, if it is one.
    `memcpy_async`: it is inside of cuda::memcpy_async. `joined`: the PTX has no line here, since the compiler has
    joined several, and this one was found otherwise: how, in words."""

    line: int = 0
    call_line: int | None = None
    header: str | None = None
    memcpy_async: bool = field(default=False, compare=False)
    joined: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.header and not self.line:
            name, _, number = self.header.rpartition(":")
            return f"line {number} of {name}"
        if not self.line:
            return "a line that the PTX does not name"
        called = f", called from line {self.call_line}" if self.call_line else ""
        return f"line {self.line}{called}{self.joined and f' ({self.joined})'}"


@dataclass(frozen=True)
class Instruction:
    opcode: Opcode
    operands: tuple
    guard: Register | None
    where: Where
    text: str


@dataclass(frozen=True)
class Program:
    """One kernel, ready to be decoded by the machine."""

    name: str
    instructions: tuple[Instruction, ...]
    register_bits: tuple[int, ...]
    params: tuple[Variable, ...]
    globals: tuple[Variable, ...]
    shared: tuple[Variable, ...]
    static_shared: int
    dynamic_at: int  # where dynamic shared memory begins
    local_bytes: int
    most_threads: int | None  # of a block, by its launch bounds
    cluster: tuple[int, int, int]  # blocks of a cluster
    fewest_blocks: int | None  # on an SM, by its launch bounds
    most_registers: int | None  # of a thread, by __maxnreg__
    reserved_shared: int  # of the system's, before the static part
    only_block: tuple[int, ...] | None  # threads in x, y, z: no block of others may be launched
    functions: dict[int, str]  # of the device, by what stands for a pointer to each

    @property
    def param_bytes(self) -> int:
        return max((p.offset + p.size for p in self.params), default=0)


# --------------------------------------------------------------------------- pass 1: text to statements

MAIN_FILE = "kernel.cu"
"""What the compiler calls the learner's own source."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_INLINE_ASM = re.compile(r"// begin inline asm\n.*?// end inline asm", re.S)
_LOC = re.compile(r"^[ \t]*\.loc\b[^\n]*", re.M)
_TOKEN = re.compile(r'"[^"]*"|[%$\w.]+(?:::[\w.]+)*|[^\s]')
SCRATCH = "%reserved_smem_offset_1"
"""Where in the system's part of shared memory cooperative groups keep what groups of several warps work with
(cooperative_groups/details/memory.h)."""
RESERVED_SHARED = 1024
"""Bytes of a block that the system has for itself from compute capability 8.0 on; on an H100 the first ones."""
_SPECIAL = re.compile(
    r"%(tid|ntid|ctaid|nctaid)\.[xyz]$|%(laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock64|globaltimer"
    r"|globaltimer_lo|globaltimer_hi|clock_hi|envreg[12]|dynamic_smem_size|total_smem_size|lanemask_\w+)$|^WARP_SZ$"
    rf"|{SCRATCH}$"
    r"|%(clusterid|nclusterid|cluster_ctaid|cluster_nctaid)\.[xyz]$|%(cluster_n?ctarank|is_explicit_cluster)$"
)
_BITS = {name: max(8 * dtype.itemsize, 8) for name, dtype in DTYPES.items()} | {"pred": 1}


@dataclass
class _Statement:
    """One instruction as written: guard, opcode and operand tokens."""

    guard: tuple[str, bool] | None
    opcode: str
    tokens: list[str]
    where: Where

    @property
    def is_call(self) -> bool:
        return self.opcode.split(".")[0] == "call"


@dataclass
class _Label:
    name: str


@dataclass
class _Targets:
    """`name: .branchtargets L1, L2;`"""

    name: str
    labels: list[str]


@dataclass
class _Prototype:
    """`name: .callprototype (results) _ (parameters);`: of the functions that a call through a pointer may lead to."""

    name: str
    results: list[Variable]
    params: list[Variable]


@dataclass
class _Scope:
    """A braced block: registers and variables declared in it hide outer ones of the same name. `registers`: a name,
    how many there are (`%r<8>`; None: just this one), and the bits of each."""

    registers: list[tuple[str, int | None, int]] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    body: list = field(default_factory=list)

    def items(self) -> Iterator:
        """What stands in it, and in the blocks in it."""
        for item in self.body:
            yield from item.items() if isinstance(item, _Scope) else (item,)

    def words(self) -> Iterator[str]:
        """Of its instructions."""
        for item in self.items():
            if isinstance(item, _Statement):
                yield from item.tokens


@dataclass
class _Function:
    name: str
    is_kernel: bool
    results: list[Variable]
    params: list[Variable]
    scope: _Scope | None
    most_threads: int | None
    cluster: tuple[int, int, int]
    fewest_blocks: int | None
    most_registers: int | None
    only_block: tuple[int, ...] | None

    def calls_pointers(self) -> bool:
        return self.scope is not None and any(isinstance(item, _Prototype) for item in self.scope.items())


@dataclass
class Module:
    functions: dict[str, _Function]
    variables: dict[str, Variable]

    def address_of(self, name: str) -> int | None:
        """What stands for a pointer to this function, if there is one."""
        found = self.functions.get(name)
        return address_of_function(found.name) if found and found.scope else None

    @cached_property
    def pointed(self) -> list[_Function]:
        """The functions whose address is taken: by an instruction, or in a variable."""
        scopes = (function.scope for function in self.functions.values() if function.scope)
        statements = (each for scope in scopes for each in scope.items() if isinstance(each, _Statement))
        names = {word for each in statements if not each.is_call for word in each.tokens}
        names |= {name for each in self.variables.values() for _, name, _ in each.addresses}
        return [
            each
            for name, each in self.functions.items()
            if name in names and each.scope and not each.is_kernel
        ]


FUNCTIONS_AT = 1 << 55
"""Behind all arrays, and before the windows of shared and local memory."""


def address_of_function(name: str) -> int:
    """What stands for a pointer to it: the same in all modules."""
    return FUNCTIONS_AT + 16 * zlib.crc32(name.encode())


def unknown_address(name: str) -> str:
    return f"a variable is initialised with the address of {shown(name)}, which is no variable and no function here"


def _signature(results: list[Variable], params: list[Variable]) -> tuple[tuple[int, ...], ...]:
    """What a call and a function must have in common."""
    return tuple(each.size for each in results), tuple(each.size for each in params)


MEMCPY_ASYNC = re.compile(r"/__memcpy_async/(?!memcpy_async_tx)")
"""The headers of cuda::memcpy_async, but for those of cuda::device::memcpy_async_tx."""
NEAR = "or near it: the compiler has joined several lines here, and tells none"
CUT = "its PTX is not whole: it ends within a function, or a statement. Make it again"
Place = tuple[int, int, int]
"""Of a `.loc`: the number of a file, a line, a column."""


class _Lines:
    """`.loc` directives: where the following instructions come from (PTX ISA 11.5.2)."""

    def __init__(self, files: dict[int, str], main: str) -> None:
        self.files = files
        self.main = main
        self.callers: dict[Place, Place] = {}

    def resolve(self, place: Place) -> Where:
        """Walk from the innermost place outwards: the first line of the learner's file, then its caller."""
        own: list[int] = []
        name = self.files.get(place[0], "header").rpartition("/")[2]
        header = None if self._main(place) else f"{name}:{place[1]}"
        seen: set[Place] = set()
        at: Place | None = place
        while at is not None and at not in seen and len(seen) < limits.MOST_DEEP:
            seen.add(at)
            if self._main(at):
                own.append(at[1])
            at = self.callers.get(at)
        inside = any(MEMCPY_ASYNC.search(self.files.get(each[0], "")) for each in seen)
        return Where(own[0] if own else 0, own[1] if len(own) > 1 else None, header, inside)

    def _main(self, place: Place) -> bool:
        """Whether it lies in the learner's file. That one is not always the first: a kernel may be in a header."""
        name = self.files.get(place[0], self.main)
        return name == self.main or name.rpartition("/")[2] == self.main


class _Reader:
    def __init__(self, text: str, main: str) -> None:
        text = _INLINE_ASM.sub(lambda asm: _placed_once(asm[0]), text)
        text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n") or " ", text.replace("\0", ""))
        self.tokens = _TOKEN.findall(text)
        # of a text that names no lines of a source
        self.own_lines = [] if ".loc" in self.tokens else _lines_of_tokens(text)
        self.at = 0
        self.lines = _Lines(files_of(text), main)
        self.where = Where()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        if self.at == len(self.tokens):
            raise UnsupportedInstruction(CUT)
        self.at += 1
        return self.tokens[self.at - 1]

    def until(self, end: str) -> list[str]:
        start = self.at
        try:
            self.at = self.tokens.index(end, start) + 1
        except ValueError:
            raise UnsupportedInstruction(CUT) from None
        return self.tokens[start : self.at - 1]

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    # ---- module level

    def module(self) -> Module:
        module, aliases = Module({}, {}), dict[str, str]()
        while self.at < len(self.tokens):
            token = self.next()
            if token in (".entry", ".func"):
                function = self.function(token == ".entry")
                if function.scope or function.name not in module.functions:
                    module.functions[function.name] = function
            elif token in (".global", ".const", ".shared"):
                variable = self.variable(token[1:])
                module.variables[variable.name] = variable
            elif token == ".section":
                self.until("{")
                self.until("}")
            elif token == ".file":
                self.at += 2
            elif token == ".alias":
                name, _, of = self.until(";")
                aliases[name] = of
            # .version, .target, .address_size, .visible, .extern, .weak and their values need no action
        known = module.functions
        known |= {name: known[of] for name, of in aliases.items() if of in known}
        return module

    def function(self, is_kernel: bool) -> _Function:
        results = self.parameters() if self.peek() == "(" else []
        name = self.next()
        params = self.parameters() if self.peek() == "(" else []
        bounds: dict[str, list[int]] = {}
        while self.peek() not in ("{", ";"):  # .maxntid, .minnctapersm, .noreturn ...
            token = self.next()
            if token.startswith("."):
                numbers = bounds.setdefault(token, [])
            elif token.isdecimal():
                numbers.append(whole(token))
        scope = self.scope() if self.next() == "{" else None
        only = (*bounds[".reqntid"], 1, 1)[:3] if ".reqntid" in bounds else None
        threads = bounds.get(".maxntid") or only
        most = math.prod(threads) if threads else None
        x, y, z, *_ = (max(number, 1) for number in (*bounds.get(".reqnctapercluster", []), 1, 1, 1))
        (blocks, *_), (registers, *_) = (bounds.get(token, [None]) for token in (".minnctapersm", ".maxnreg"))
        return _Function(name, is_kernel, results, params, scope, most, (x, y, z), blocks, registers, only)

    def parameters(self) -> list[Variable]:
        self.next()
        found, offset = [], 0
        while not self.accept(")"):
            if self.next() == ".param":
                variable = self.variable("param", closing=(",", ")"))
                offset = -(-offset // variable.align) * variable.align
                found.append(replace(variable, offset=offset))
                offset += variable.size
        return found

    def variable(self, space: str, closing: tuple[str, ...] = (";",)) -> Variable:
        """`.align 4 .b8 name[12] = {1, 2}` up to (for parameters: not including) the closing token."""
        align, itemsize, data, kind = 0, 1, b"", ""
        addresses: tuple[tuple[int, str, int], ...] = ()
        while (token := self.next()).startswith("."):
            if token == ".align":
                align = whole(self.next())
            elif token == ".attribute":  # (.managed)
                self.until(")")
            elif token == ".ptr":  # `.ptr .global .align 4` describes what a pointer points to
                while self.peek().startswith("."):
                    if self.next() == ".align":
                        self.next()
            elif token[1:] in _BITS:
                kind, itemsize = token[1:], _BITS[token[1:]] // 8
        name, count, one = token, 1, kind
        while self.accept("["):
            inside, one = self.until("]"), ""
            count *= whole(inside[0]) if inside else 0
        if self.accept("="):
            data, addresses = self.initialiser(np.dtype(DTYPES[kind or "b8"]))
        if closing == (";",):
            self.until(";")
        variable = Variable(name, space, count * itemsize, align or itemsize, 0, data, addresses, one)
        limits.check_alignment(name, variable.align)
        return variable

    def initialiser(self, dtype: np.dtype) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        """Numbers, and addresses of other variables: `{1, generic(name)+8}`."""
        tokens, depth = [], 0
        while self.peek() != ";" or depth:
            token = self.next()
            depth += (token == "{") - (token == "}")
            tokens.append(token)
        words = "".join(token for token in tokens if token not in "{}").split(",")
        addresses = [
            (at * dtype.itemsize, found[1], whole(found[2] or "0"))
            for at, word in enumerate(words)
            if (found := re.fullmatch(r"(?:generic\()?([A-Za-z_$][\w$.]*)\)?(?:\+(\d+))?", word))
        ]
        elsewhere = {at // dtype.itemsize for at, *_ in addresses}
        numbers = [0 if at in elsewhere else literal(word, dtype) for at, word in enumerate(words) if word]
        return np.array(numbers).astype(dtype).tobytes(), tuple(addresses)

    # ---- inside a function

    def scope(self, depth: int = 1) -> _Scope:
        limits.check_depth(depth)
        scope = _Scope()
        while not self.accept("}"):
            token = self.next()
            if token == "{":
                scope.body.append(self.scope(depth + 1))
            elif token == ".reg" or token.startswith(".reg."):
                scope.registers += self.registers(token[5:] or self.next()[1:])
            elif token in (".local", ".shared", ".param"):
                scope.variables.append(self.variable(token[1:]))
            elif token == ".loc":
                self.loc()
            elif token == ".pragma":
                self.until(";")
            elif self.accept(":"):
                scope.body.append(self.label(token))
            elif token != ";":
                scope.body.append(self.statement(token))
        return scope

    def label(self, name: str) -> _Label | _Targets | _Prototype:
        if self.accept(".branchtargets"):
            return _Targets(name, [t for t in self.until(";") if t != ","])
        if self.accept(".callprototype"):
            results = self.parameters() if self.peek() == "(" else []
            self.next()  # `_`
            params = self.parameters() if self.peek() == "(" else []
            self.until(";")
            return _Prototype(name, results, params)
        return _Label(name)

    def registers(self, kind: str) -> list[tuple[str, int | None, int]]:
        if kind not in _BITS:
            raise UnsupportedInstruction(f"registers of the type {shown(kind)} are not simulated")
        found: list[tuple[str, int | None, int]] = []
        tokens = iter(self.until(";"))
        for token in tokens:
            if token == "<":  # `%r<8>`
                count = whole(next(tokens, ""))
                name, _, bits = found.pop() if found else ("", None, 0)
                found.append((name, count, bits))
            elif token not in ">,":
                found.append((token, None, _BITS[kind]))
        return found

    def loc(self) -> None:
        place = self.place()
        if self.accept(","):
            self.next()  # function_name
            self.next()
            if self.accept("+"):
                self.next()
            self.next()  # the comma
            self.next()  # inlined_at
            self.lines.callers[place] = self.place()
        else:
            self.lines.callers.pop(place, None)
        if place[1]:
            self.where = self.lines.resolve(place)
        else:  # code without a line of its own: it keeps the line before it
            self.where = replace(self.where, joined=NEAR)

    def place(self) -> Place:
        return whole(self.next()), whole(self.next()), whole(self.next())

    def statement(self, token: str) -> _Statement:
        guard = None
        if token == "@":
            negated = self.accept("!")
            guard = (self.next(), negated)
            token = self.next()
        where = Where(self.own_lines[self.at - 1]) if self.own_lines else self.where
        return _Statement(guard, token, self.until(";"), where)


def _placed_once(asm: str) -> str:
    """Inline assembly with the first place that it names: LLVM goes on to the next line of the source with each line of
    the assembly, so that a load of Triton's has the line behind its own."""
    first = _LOC.search(asm)
    return asm[: first.end()] + _LOC.sub("", asm[first.end() :]) if first else asm


def _lines_of_tokens(text: str) -> list[int]:
    """The line of each token, from 1."""
    ends = [end.start() for end in re.finditer("\n", text)]
    return [bisect_right(ends, token.start()) + 1 for token in _TOKEN.finditer(text)]


def parse(text: str, main: str = MAIN_FILE) -> Module:
    """Read PTX text. Nothing is checked beyond what is needed to find functions and variables. `main`: the learner's
    own file, as the text names it."""
    return _Reader(text, main).module()


def files_of(text: str) -> dict[int, str]:
    """The files that a text's lines come from."""
    return {int(number): name for number, name in re.findall(r'\.file\s+(\d{1,9})\s+"([^"]*)"', text)}


def file_of(text: str, entry: str) -> str:
    """The file in which a kernel begins; "" where no lines are known."""
    begin = re.search(rf"\.entry\s+{re.escape(entry)}\b", text)
    line = re.compile(r"^\s*\.loc\s+(\d{1,9})\b", re.M).search(text, begin.end()) if begin else None
    return files_of(text).get(int(line[1]), "") if line else ""


LONGEST = 400
"""Characters of a number: a float64 may be written with as many digits as its smallest one has."""


def _number(text: str, dtype: np.dtype) -> int | float:
    """A PTX literal; 0f3F800000 and 0d... are the bits of a float (PTX ISA 4.5)."""
    if text[:2] in ("0f", "0F"):
        return _from_bits(int(text[2:], 16), np.uint32, np.float32, dtype)
    if text[:2] in ("0d", "0D"):
        return _from_bits(int(text[2:], 16), np.uint64, np.float64, dtype)
    text = text.rstrip("U")
    if "." in text:
        return float(text)
    digits = text.lstrip("-")
    base = 8 if len(digits) > 1 and digits[0] == "0" and digits.isdigit() else 0
    value = int(text, base)
    if dtype.kind in "iu":  # a literal has 64 bits; an instruction takes its low ones
        bits = 8 * dtype.itemsize
        value &= (1 << bits) - 1
        return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value
    return bool(value) if dtype.kind == "b" else value


@lru_cache(maxsize=1 << 14)
def literal(text: str, dtype: np.dtype = np.dtype("i8")) -> int | float:  # noqa: B008  never changed
    """The number that a text stands for. Raises UnsupportedInstruction for one that PTX does not have."""
    try:
        if len(text) <= LONGEST:
            return _number(text, dtype)
    except (ValueError, OverflowError):
        pass
    raise UnsupportedInstruction(f"{shown(text)} is no number that PTX has")


def _from_bits(value: int, bits: type, floating: type, dtype: np.dtype) -> int | float:
    return bits(value) if dtype.kind in "iu" else bits(value).view(floating)


# --------------------------------------------------------------------------- pass 2: one kernel, flat

BUILT_IN = {
    "vprintf": "call.vprintf",
    "malloc": "call.malloc",
    "free": "call.free",
    "__assertfail": "assertfail",
    "__cudaCDP2Malloc": "call.cuda_malloc",
    "__cudaCDP2Free": "call.free",
    "__cudaCDP2GetParameterBufferV2": "call.parameters",
    "__cudaCDP2LaunchDeviceV2": "call.launch",
    "__cudaCDP2StreamCreateWithFlags": "call.stream",
    "__cudaCDP2StreamDestroy": "call.nothing",
    "__cudaCDP2GetLastError": "call.nothing",
    "__cudaCDP2PeekAtLastError": "call.nothing",
}
"""Functions that every GPU has, and the instructions that stand for them here."""


MOST_INLINED = 30_000
"""Instructions of a kernel with calls: ten functions that each call the next one twice are 1,024 copies of the last."""


def of_module(module: Module) -> tuple[Variable, ...]:
    """The variables that all its kernels share."""
    return tuple(v for v in module.variables.values() if v.space in ("global", "const"))


class _Linker:
    def __init__(self, module: Module) -> None:
        self.module = module
        addresses = {name: module.address_of(name) for name in module.functions}
        self.addresses = {name: address for name, address in addresses.items() if address is not None}
        self.register_bits: list[int] = []
        self.pending: list = []  # _Statement with its names, or Instruction; labels are resolved last
        self.label_pc: dict[object, int] = {}
        self.shared_bytes = 0
        self.local_bytes = 0
        self.active: list[str] = []
        self.depth = 0
        self.placed: dict[str, Variable] = {}
        self.of_module: dict[str, Any] = {}  # names that all functions know

    # ---- names

    def place(self, variable: Variable, key: str) -> Variable:
        """Give a variable its address. Parameters of calls live in local memory, one copy for each call."""
        if variable.space == "shared":
            if key in self.placed:
                return self.placed[key]
            if variable.size == 0:  # extern __shared__: begins where the static part ends
                placed = replace(variable, offset=-1)
            else:
                self.shared_bytes = -(-self.shared_bytes // variable.align) * variable.align
                placed = replace(variable, offset=self.shared_bytes)
                self.shared_bytes += variable.size
            self.placed[key] = placed
            return placed
        align = max(variable.align, 8)
        self.local_bytes = -(-self.local_bytes // align) * align
        placed = replace(variable, space="local", offset=self.local_bytes)
        self.local_bytes += max(variable.size, 8)
        return placed

    def kernel(self, name: str) -> Program:
        function = self.module.functions[name]
        limits.check_parameters(sum(each.size for each in function.params))
        limits.check_variables(sum(each.size for each in of_module(self.module)))
        used = self.words(name)
        reserved = self.shared_bytes = RESERVED_SHARED if SCRATCH in used else 0
        self.of_module = self.pointers() | {
            v.name: self.place(v, v.name) if v.space == "shared" and v.name in used else v
            for v in self.module.variables.values()
        }
        self.function(function, self.of_module | {p.name: p for p in function.params}, end=None)
        self.emit("ret", ())
        # An H100 begins dynamic shared memory at a multiple of the alignment that `extern __shared__` declares.
        align = max([16, *(v.align for v in self.placed.values() if v.offset < 0)])
        dynamic_at = -(-self.shared_bytes // align) * align
        instructions = tuple(self.resolve(item, dynamic_at) for item in self.pending)
        constants = of_module(self.module)
        return Program(
            name,
            instructions,
            tuple(self.register_bits),
            tuple(function.params),
            constants,
            tuple(replace(v, offset=dynamic_at) if v.offset < 0 else v for v in self.placed.values()),
            self.shared_bytes - reserved,
            dynamic_at,
            self.local_bytes,
            function.most_threads,
            function.cluster,
            function.fewest_blocks,
            function.most_registers,
            reserved,
            function.only_block,
            {address: name for name, address in self.addresses.items()},
        )

    def pointers(self) -> dict[str, Immediate]:
        """What the name of a function stands for where it is no call."""
        return {name: Immediate(str(address)) for name, address in self.addresses.items()}

    def words(self, name: str) -> set[str]:
        """All words of a function and of those that it calls. A shared array beside the functions takes room only in
        kernels that use it."""
        found, todo = {name}, [name]
        while todo:
            function = self.module.functions.get(todo.pop())
            if function and function.scope:
                new = set(function.scope.words()) - found
                if function.calls_pointers():
                    new |= {each.name for each in self.module.pointed} - found
                found |= new
                todo += new & self.module.functions.keys()
        return found

    def function(self, function: _Function, names: dict, end: object) -> None:
        if function.name in self.active:
            raise UnsupportedInstruction(
                f"recursion: device function {function.name} calls itself; the simulator inlines every call. "
                "Write it as a loop."
            )
        self.active.append(function.name)
        if function.scope:
            self.walk(function.scope, names, end)
        self.active.pop()

    def walk(self, scope: _Scope, names: dict, end: object) -> None:
        """`names`: what each name stands for here; what the scope declares hides others, and only until its end."""
        self.depth += 1
        limits.check_depth(self.depth)
        limits.check_registers(len(self.register_bits) + sum(n or 1 for _, n, _ in scope.registers))
        own: dict[str, object] = {}
        for prefix, count, bits in scope.registers:
            for name in (prefix,) if count is None else (f"{prefix}{i}" for i in range(count)):
                own[name] = Register(len(self.register_bits), bits)
                self.register_bits.append(bits)
        for variable in scope.variables:
            own[variable.name] = self.place(variable, f"{self.active[0]}/{variable.name}")
        labels = {item.name: (id(scope), object()) for item in scope.body if isinstance(item, _Label)}
        own |= labels | {item.name: tuple(item.labels) for item in scope.body if isinstance(item, _Targets)}
        own |= {item.name: item for item in scope.body if isinstance(item, _Prototype)}
        hidden = {name: names[name] for name in own if name in names}
        names.update(own)
        for item in scope.body:
            if isinstance(item, _Scope):
                self.walk(item, names, end)
            elif isinstance(item, _Label):
                self.label_pc[labels[item.name]] = len(self.pending)
            elif isinstance(item, _Statement):
                self.instruction(item, names, end)
        for name in own:
            del names[name]
        names.update(hidden)
        self.depth -= 1

    # ---- instructions

    def emit(
        self, opcode: str, operands: tuple, guard: Register | None = None, where: Where | None = None
    ) -> None:
        where = where or (self.pending[-1].where if self.pending else Where())
        self.pending.append(Instruction(opcode_of(opcode), operands, guard, where, opcode))

    def instruction(self, item: _Statement, names: dict, end: object) -> None:
        guard = None
        if item.guard:
            guard = replace(_register(names, item.guard[0]), negated=item.guard[1])
        if item.is_call:
            self.call(item, names, guard)
            return
        if item.opcode.split(".")[0] == "ret" and end is not None:
            self.pending.append(Instruction(opcode_of("bra"), (end,), guard, item.where, "ret"))
            return
        text = f"{item.opcode} {' '.join(item.tokens)}".strip()
        try:
            operands = () if not_simulated(item.opcode) else _Operands(item.tokens, names).read()
        except UnsupportedInstruction as reason:
            raise UnsupportedInstruction(f"{reason} (line {item.where.line})") from None
        if item.opcode.startswith(("ld.", "st.")):  # Triton writes { %r1 } for one register
            operands = tuple(
                o.items[0] if isinstance(o, Vector) and len(o.items) == 1 else o for o in operands
            )
        self.pending.append(Instruction(opcode_of(item.opcode), operands, guard, item.where, text))

    def call(self, item: _Statement, names: dict, guard: Register | None) -> None:
        groups = re.findall(r"\(([^)]*)\)|([^(),\s]+)", " ".join(item.tokens))
        callee, *behind = (word for _, word in groups if word)
        lists = [
            [names[n.strip()] for n in inside.split(",") if n.strip()] for inside, word in groups if not word
        ]
        results, actual = [*lists, []][:2] if item.tokens[0] == "(" else ([], [*lists, []][0])
        if callee in BUILT_IN:
            self.emit(BUILT_IN[callee], (*results, *actual), guard, item.where)
            return
        end = (id(item), object())
        if guard:
            self.emit("bra", (end,), replace(guard, negated=not guard.negated), item.where)
        if callee.startswith("%"):
            prototype = names.get(behind[-1] if behind else "")
            self.call_through(_register(names, callee), prototype, item, results, actual, end)
        else:
            function = self.module.functions.get(callee)
            if function is None or function.scope is None:
                raise UnsupportedInstruction(
                    f"call of {callee}: the simulator has no such device function (line {item.where.line})"
                )
            self.inline(function, item, results, actual, end)
        self.label_pc[end] = len(self.pending)

    def call_through(
        self, pointer: Register, prototype: object, item: _Statement, results: list, actual: list, end: object
    ) -> None:
        """All functions that the call may lead to, one behind the other, and a jump to one of them."""
        if not isinstance(prototype, _Prototype):
            raise UnsupportedInstruction(
                f"a call through a pointer without a prototype (line {item.where.line})"
            )
        wanted = _signature(prototype.results, prototype.params)
        alike = [each for each in self.module.pointed if _signature(each.results, each.params) == wanted]
        called = [each for each in alike if each.name not in self.active]
        again = [each for each in alike if each.name in self.active]
        begins = tuple((id(item), object()) for _ in called)
        known, active = (
            tuple(Immediate(str(self.addresses[each.name])) for each in some) for some in (called, again)
        )
        self.emit("call.indirect", (pointer, known, begins, active), None, item.where)
        for function, begin in zip(called, begins, strict=True):
            self.label_pc[begin] = len(self.pending)
            self.inline(function, item, results, actual, end)
            self.emit("bra", (end,))

    def inline(self, function: _Function, item: _Statement, results: list, actual: list, end: object) -> None:
        """The body of a function in the place of its call."""
        if len(self.pending) > MOST_INLINED:
            raise UnsupportedInstruction(
                f"its functions call each other so often that the kernel has more than {MOST_INLINED:,} instructions "
                "once each call is replaced by what it calls. Call a __noinline__ function in a loop instead"
            )
        inner = self.of_module | {
            formal.name: given for formal, given in zip(function.params, actual, strict=True)
        }
        inner |= {formal.name: given for formal, given in zip(function.results, results, strict=True)}
        first = len(self.pending)
        self.function(function, inner, end)
        for pc in range(first, len(self.pending)):  # the caller of a real call is known only here
            instruction = self.pending[pc]
            if instruction.where.call_line is None and item.where.line:
                self.pending[pc] = replace(
                    instruction, where=replace(instruction.where, call_line=item.where.line)
                )

    def resolve(self, instruction: Instruction, dynamic_offset: int) -> Instruction:
        def fix(operand: Any) -> Any:
            if isinstance(operand, tuple):
                if operand in self.label_pc:
                    return Target(self.label_pc[operand])
                return Vector(tuple(fix(o) for o in operand))
            if isinstance(operand, Variable) and operand.space == "shared" and operand.offset < 0:
                return replace(operand, offset=dynamic_offset)
            if isinstance(operand, Address) and isinstance(operand.base, Variable):
                return replace(operand, base=fix(operand.base))
            return operand

        operands = tuple(fix(operand) for operand in instruction.operands)
        same = all(new is old for new, old in zip(operands, instruction.operands, strict=True))
        return instruction if same else replace(instruction, operands=operands)


def _register(names: dict, name: str) -> Register:
    """What a guard, or a `!`, names."""
    found = names.get(name)
    if not isinstance(found, Register):
        raise UnsupportedInstruction(f"{shown(name)} is no register here")
    return found


class _Operands:
    """Operand tokens of one instruction, read left to right."""

    def __init__(self, tokens: list[str], names: dict) -> None:
        self.tokens = tokens
        self.names = names
        self.at = 0
        self.depth = 0

    def read(self) -> tuple:
        found = []
        while self.at < len(self.tokens):
            found.append(self.one())
            if self.take("|"):
                found[-1] = Pair(found[-1], self.one())
            self.take(",")
        return tuple(found)

    def take(self, token: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def one(self) -> Any:
        token = self.advance()
        if token == "{":
            return Vector(tuple(self.items()))
        if token == "[":
            return self.address()
        if token == "!":
            return replace(_register(self.names, self.advance()), negated=True)
        return self.name(token if token != "-" else token + self.advance())

    def items(self) -> Iterator[object]:
        self.depth += 1
        limits.check_depth(self.depth)
        while not self.take("}"):
            yield self.one()
            self.take(",")
        self.depth -= 1

    def advance(self) -> str:
        if self.at == len(self.tokens):
            raise UnsupportedInstruction(
                f"its PTX has a statement that is not whole: {shown(' '.join(self.tokens))}. Make it again"
            )
        self.at += 1
        return self.tokens[self.at - 1]

    def name(self, token: str) -> object:
        if token in self.names:
            found = self.names[token]
            if isinstance(found, tuple) and found and isinstance(found[0], str):  # .branchtargets
                return tuple(self.names[label] for label in found)
            if isinstance(found, Variable) and self.take("+"):
                return replace(found, offset=found.offset + whole(self.advance()))
            return found
        if _SPECIAL.search(token) or not_simulated(token):
            return Special(token)
        if token == "_":
            return None
        if re.match(r"-?[\d.]", token):
            literal(token)
            return Immediate(token)
        if token[0] == "%":
            raise UnsupportedInstruction(f"the special register {shown(token)} is not simulated")
        raise UnsupportedInstruction(
            f"{shown(token)} is no variable, no label and no function that the kernel knows"
        )

    def address(self) -> Address:
        base: Register | Variable | None = None
        offset = 0
        sign = 1
        coordinates: tuple = ()  # of a tensor copy
        while not self.take("]"):
            token = self.advance()
            if token in "+-":
                sign = -1 if token == "-" else 1
            elif token == ",":
                found = self.one()
                if not isinstance(found, Vector):
                    raise UnsupportedInstruction("an address with a comma has no coordinates behind it")
                coordinates = found.items
            elif re.match(r"\d", token):
                offset += sign * whole(token)
            else:
                base = self.names.get(token)
                if base is None:
                    raise UnsupportedInstruction(
                        f"the address of {shown(token)} is not known in this function"
                    )
        if isinstance(base, Variable) and base.offset >= 0:
            base, offset = replace(base, offset=base.offset + offset), 0
        return Address(base, offset, coordinates)


def link(module: Module, kernel: str) -> Program:
    """Flatten one kernel. Raises UnsupportedInstruction for recursion and calls of unknown functions."""
    return _Linker(module).kernel(kernel)


def kernels(module: Module) -> Iterator[str]:
    """Names of the kernels (`.entry`) of a module."""
    return (name for name, function in module.functions.items() if function.is_kernel)
