"""Deeper, lesson 03: pages to repair."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "03_pages_to_repair"

SHARED = "    __shared__ TileType smem_buffer[2];"
LAST_BARRIER = f"    __syncthreads();{' ' * 34}// with one tile there was no barrier yet\n"
LOAD_TILE = "        load_tile(data[k], smem_buffer[produce_stage]);\n"
COMPUTE = "        compute(smem_buffer[consume_stage]);\n"

AHEAD_BARRIER = f"        __syncthreads();{' ' * 30}// this k-tile is complete, the other buffer is free\n"

RIGHT_ANSWERS = right_answers(
    """
03.6
    in dynamic shared memory
        - $SHARED…
        +     TileType* smem_buffer = (TileType*)smem;…
        extern __shared__ uint8_t -> extern __shared__ __align__(16) uint8_t
    the barrier behind the prologue
        $LAST_BARRIER ->
        -     // Mainloop
        +     __syncthreads();
        +     // Mainloop
    one barrier in each turn
        - $LOAD_TILE
        -
        -         __syncthreads();
        +         __syncthreads();
        + $LOAD_TILE
        - $COMPUTE
        -
        -         __syncthreads();
        + $COMPUTE

03.7
    one more barrier
        -         stage = 1 - stage;…
        +         __syncthreads();
        +         stage = 1 - stage;…
    no stage
        As[1 - stage] -> As[(k_tile + 1) % 2]
        Bs[1 - stage] -> Bs[(k_tile + 1) % 2]
        As[stage] -> As[k_tile % 2]
        Bs[stage] -> Bs[k_tile % 2]
    the math before the copy
        -         multiply(acc, As[stage], Bs[stage], m, n);

        -         if (k_tile + 1…
        +         multiply(acc, As[stage], Bs[stage], m, n);
        +         if (k_tile + 1…
""",
    **globals(),
)

WRONG_ANSWERS = wrong_answers(
    """
03.6
    only __shared__: the loop never runs
        $LAST_BARRIER ->
    only a barrier: belongs to the block
        - $SHARED…
        +     TileType smem_buffer[2];…
    static: lies in global memory
        - $SHARED…
        +     static TileType smem_buffer[2];…
    no first barrier in the loop: between loading a tile and computing
        - $LOAD_TILE
        -
        -         __syncthreads();
        + $LOAD_TILE
    no second barrier in the loop: a fast warp loads
        - $COMPUTE
        -
        -         __syncthreads();
        + $COMPUTE
    a barrier behind the end: the loop never runs
        $LAST_BARRIER ->
        -     out[threadIdx.x]…
        +     __syncthreads();
        +     out[threadIdx.x]…
    one buffer: two tiles of 64 floats
        smem_buffer[2] -> smem_buffer[1]
    computes with the new tile: follow the two stages
        int consume_stage = 0 -> int consume_stage = 1
    loop from 0: follow the two stages
        int k = 1; -> int k = 0;
    one turn too many: no next one to load
        k < num_tiles -> k <= num_tiles
    a barrier for half of the threads: move it out of the if
        - $LAST_BARRIER
        +     if (threadIdx.x < 32) __syncthreads();

03.7
    barrier behind the copy: Which barrier
        $AHEAD_BARRIER ->
        -         multiply(acc, As[stage]…
        +         __syncthreads();
        +         multiply(acc, As[stage]…
    no barrier: must stand between
        $AHEAD_BARRIER ->
    no guard: no next one to copy
        if (k_tile + 1 < K / TK) ->
    no prologue: nothing was copied
        -     copy_tile<THREADS>(As[0], A, M); …
        + //…
        -     copy_tile<THREADS>(Bs[0], B, N);
    same k-tile again: turn t copies k-tile t + 1
        A + (k_tile + 1) * TK * M -> A + k_tile * TK * M
        B + (k_tile + 1) * TK * N -> B + k_tile * TK * N
    multiplies the other buffer:
        multiply(acc, As[stage], Bs[stage] -> multiply(acc, As[1 - stage], Bs[1 - stage]
""",
    **globals(),
)
