"""What a report says is to be done. Who does what a sentence says is done: tests/ptxsim/races/mended.py
has for each a kernel that gets it, and the same kernel mended as it says."""

ELECTED = (
    "This thread has an order behind what {mate} did later, and that is in no order behind that {theirs}:"
)
MISSING = (
    "missing between the {theirs} and the arrival or the flag of {mate}, or every thread arrives for itself"
)
MENDS = {
    # ---- of one block, or of one warp
    "barrier": "A {barrier}() is missing between that {theirs} and this {mine}",
    "barrier-outside": "A {barrier}() is missing between that {theirs} and this {mine}, at a place to which all "
    "threads of the {group} come",
    "syncwarp-of-some": "A __syncwarp(mask) is missing between that {theirs} and this {mine}. Not all of the warp take "
    "this branch: the mask is __ballot_sync({whole:#x}, condition), made before the branch; here it is {mask:#x}",
    "two-branches": "A barrier is missing between that {theirs} and this {mine}, and no __syncthreads() can stand "
    "there: not all threads of the block take this branch. Make two branches of it: the {theirs} in the first (what is "
    "read goes into a variable), then __syncthreads() for all threads, and this {mine} in the second",
    "bar.sync": '. Or let only the {warps} warps that take it meet there: asm volatile("bar.sync 1, {threads};" ::: '
    '"memory"), with a number from 1 to 15 that no other barrier has',
    "one-writer": "Only one thread should write it, or each writes to a place of its own",
    "one-writer-or": "Only one thread should write it, or {barrier}",
    "atomic": "Both threads change it: each reads it, and writes back what it made of that. Where one reads before the "
    "other has written, a change is lost, and no barrier mends that. One instruction shall do it all: {atomic}",
    "atomic-too": "The change at {place} reads it and writes it back, and the atomic of another thread may come "
    "between the two. One instruction shall do it all there, too: {atomic}",
    "read-by-atomic": "The read at {place} decides about the atomic, and is none itself. Leave it out, since an atomic "
    "gives back what was there before it; or read by an atomic as well: atomicAdd(place, 0)",
    "wider-scope": "The access at {place} has the scope of its {group} alone, and the other thread is not in it. It "
    "takes the scope of the GPU: an atomic without _block, thread_scope_device, .gpu",
    "flag": "This thread waits, at {place}, for what the other one sets, and that orders nothing else by itself. A "
    "{fence}() belongs on both sides: there between that {theirs} and the setting, here between the wait and this "
    "{mine}",
    "wgmma-read": "The tensor cores read until wgmma.wait_group: behind that wait, and not before it, comes the "
    "barrier, or the arrival for which this thread waits",
    "elected-in-warp": f"{ELECTED} a __syncwarp() is {MISSING}",
    "elected-in-block": f"{ELECTED} a __syncthreads() (where only one warp has written: a __syncwarp()) is {MISSING}",
    "elected": f"{ELECTED} a barrier of both (__syncthreads(), or bar.sync where not all come) is {MISSING}",
    "left-out": "Not all threads come to the barrier at {place}: {does} does, {does_not} does not. It stands where all "
    "come to it, outside of branches",
    "barrier-in-branch": "Not all threads come to it: a barrier must not stand in a branch that only some threads take",
    "one-barrier-for-all": "Every thread of the block must reach the same one; the GPU counts them together",
    "mask-of-branch": "All lanes of the mask must come here: move it out of the branch, or name only those that take "
    "this way, by a __ballot_sync() before the branch",
    # ---- locks
    "lock": "A fence is missing in the lock: a __threadfence() {first}. The atomics of a lock order nothing else by "
    "themselves",
    "lock-twice": "Two fences are missing in the lock: a __threadfence() {first}, and a __threadfence() {second}. The "
    "atomics of a lock order nothing else by themselves",
    # ---- of two blocks
    "fence-behind-flag": "This thread has read the flag behind that {theirs}: a __threadfence() is missing between the "
    "read of the flag and this {mine}",
    "no-flag": "There is a fence behind that {theirs}. What is missing is the flag: {them}, or a thread behind a "
    "barrier with it, sets one by an atomic behind the fence, and this thread reads it by an atomic until it is set, "
    "then __threadfence(), then this {mine}",
    "blocks": "Blocks run in any order: what one block writes, another may use in the same launch only through "
    "atomics, or behind a flag, with a fence on both sides: {theirs}, __threadfence(), flag there; flag, "
    "__threadfence(), {mine} here",
    "blocks-fenced-here": "Blocks run in any order: what one block writes, another may use in the same launch only "
    "through atomics, or behind a flag, with a fence on both sides. The fence is here; it is missing there: {theirs}, "
    "__threadfence(), flag",
    "narrow-fence": "A __threadfence_block() counts within its block alone. Between blocks it is __threadfence(): "
    "{theirs}, __threadfence(), flag there; flag, __threadfence(), {mine} here",
    "one-block-writes": "Blocks run in any order, so any of them may have the last word: only one block should write "
    "it, or each to a place of its own",
    "cluster": "Blocks of a cluster know of each other by barrier.cluster.arrive and .wait{other}, not by "
    "__syncthreads()",
    # ---- threads that are at one place by mistake
    "unread-index": "The kernel does not read {index}, and the launch has {count} of it: threads that differ in it do "
    "the same work. Launch one, or make the index of it",
    "wrapped-index": "32 bits overflowed at {place}: {product} = {exact:,}, of which they hold {held:,}. Compute the "
    "index in 64 bits, such as size_t(row) * columns",
    "overlap": ". Or do two arrays overlap there? The one access takes {sizes[0]} bytes, the other {sizes[1]}",
    # ---- copies
    "wait-for-group": "Wait for its group (cp.async.wait_group), then __syncthreads()",
    "commit": "No cp.async.commit_group follows {place}, so no wait covers the copy",
    "wait-first": "The wait (cp.async.wait_all, {place}) stands behind this {mine}: first the wait, then "
    "__syncthreads(), then the {mine}",
    "wait-before-barrier": "The wait (cp.async.wait_all, {place}) stands behind the barrier and this {mine}: first the "
    "wait, then __syncthreads(), then the {mine}",
    "wait-before-copy": "The wait (cp.async.wait_all, {place}) stands before the copy, and waits for earlier ones: "
    "first the copy, then the wait, then __syncthreads(), then the {mine}",
    "wait-passed-by": "The wait (cp.async.wait_all, {place}) was passed by, by a thread or in a turn: each thread that "
    "copies waits, each time, before the __syncthreads() and the {mine}",
    "barrier-behind-wait": "Your wait stands behind the barrier: at {place} the copy arrives, and only a barrier after "
    "that shows it to the other threads. First the wait, then __syncthreads()",
    "wait-for-phase": "Wait for the phase of its mbarrier",
    "wrong-parity": "The wait at {place} asked for parity {asked}, which {had}. The copy comes in phase {phase}: wait "
    "for parity {parity}",
    "wait-for-store": "Wait for its group with cp.async.bulk.wait_group, without .read: that one says only that the "
    "source has been read",
    "source-still-read": "Wait for its group ({wait}) before anybody writes to its source",
    "store-still-reads": "before this copy that thread waits until its source has been read "
    "(cp.async.bulk.wait_group.read)",
    "store-read": "The thread of the bulk store at {place} waits for it with cp.async.bulk.wait_group.read alone, "
    "which says only that its source has been read. Before its fence and its flag it waits until the bytes have "
    "arrived: cp.async.bulk.wait_group, without .read",
    "store-unwaited": "The thread of the bulk store at {place} never waits for it. Before its fence and its flag it "
    "waits until the bytes have arrived: cp.async.bulk.wait_group, without .read",
    # ---- tensor memory
    "wait-for-product": "First wait for the phase of the mbarrier that a tcgen05.commit of that thread, behind it, "
    "tells",
    "wait-for-tensor-store": "The warp that stores waits first (tcgen05.wait::st), and then tells others, by a barrier "
    "or an arrival",
    "order-in-tensor-memory": "The other warp waits first ({wait}), and then comes a barrier, or an arrival for which "
    "this thread waits",
    # ---- proxies and caches
    "proxy-fence": "They {do} through a proxy of their own: after the write and before the barrier, the writing thread "
    "calls fence.proxy.async",
    "proxy-fence-read": "It writes through a proxy of its own, which no barrier holds back: after the read and before "
    "the barrier, the reading thread calls fence.proxy.async",
    "read-only-cache": "That cache need not see what the launch writes, not even behind a barrier. The load is "
    "__ldg(), or the compiler makes it of a const __restrict__ parameter: does another parameter name the same array?",
}


def mend(name: str, **parts: object) -> str:
    """A sentence of MENDS."""
    return MENDS[name].format(**parts)
