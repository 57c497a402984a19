"""Lesson 09: a whole program, which stands in no kernel's cell, and three exercises."""

from tests.lessons import solved_function
from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "09_your_own_kernel"
SOLVED = {"09.2": solved_function("my_wait"), "09.3": solved_function("my_command")}
RIGHT_ANSWERS = right_answers(
    """
09.1
    the barrier before the sums are written
        - __syncthreads();                              // all have read sums
        + ;
        if (lane == 31) -> __syncthreads(); if (lane == 31)
    two arrays in turn
        __shared__ float sums[WARPS]; -> __shared__ float both[2][WARPS];
        - int i = first + threadIdx.x;…
        + int i = first + threadIdx.x; float* sums = both[first / THREADS % 2];…
        - __syncthreads();                              // all have read sums
        + ;
    turns counted
        - for (int first = 0; first < columns; first += THREADS) {
        -         int i = first + threadIdx.x;…
        + for (int turn = 0; turn < (columns + THREADS - 1) / THREADS; ++turn) {
        +         int i = turn * THREADS + threadIdx.x;…

09.2
    a little later
        "K0" -> "R0"

09.3
    by Python
        "ptxsim run -> "python -m ptxsim run
    another order, a slash
        -I include --arch 80 -> --arch=80 -Iinclude/
"""
)
WRONG_ANSWERS = wrong_answers(
    """
09.1
    as it was: write-after-read
        - for (int first = 0; first < columns; first += THREADS) {
        -         int i = first + threadIdx.x;
        -         float sum = i < columns ? x[i] : 0;
        + for (int i = threadIdx.x; i < columns; i += THREADS) {
        +         float sum = x[i];
        w == warp && i < columns -> w == warp
        - __syncthreads();                              // all have read sums
        + ;
    only the barrier: must make the same turns
        - for (int first = 0; first < columns; first += THREADS) {
        -         int i = first + threadIdx.x;
        -         float sum = i < columns ? x[i] : 0;
        + for (int i = threadIdx.x; i < columns; i += THREADS) {
        +         float sum = x[i];
        w == warp && i < columns -> w == warp
    only the loop: a slower warp still reads
        - __syncthreads();                              // all have read sums
        + ;
    a barrier of the warp: a slower warp still reads
        - __syncthreads();                              // all have read sums
        + __syncwarp();
    what is written is not guarded: touches neither x nor y
        w == warp && i < columns -> w == warp
    what is read is not guarded: touches neither x nor y
        i < columns ? x[i] : 0 -> x[i]
    the last piece left out: all pieces of a row
        first < columns; -> first + THREADS <= columns;
    the columns before forgotten: all pieces before it
        y[i] = before + sum; -> y[i] = sum;
    only the piece before: of all pieces before it
        before += sums[w]; -> before = (w == 0 ? 0 : before) + sums[w];
    threads without a column have left: must make the same turns
        - float sum = i < columns ? x[i] : 0;…
        + if (i >= columns) return;
        +         float sum = x[i];…

09.2
    there already: into which place does C2 copy
        "C2", "K0" -> "K2", "C2"
    another matrix: into which place does C2 copy
        "C2", "K0" -> "K1", "K0"
    the other way: who comes first in the order of the list
        "C2", "K0" -> "K0", "C2"
    the kernel before: the wait is stronger
        "K0" -> "K1"
    the result before: the wait is stronger
        "K0" -> "R1"
    a copy too soon: the wait is stronger
        "C2" -> "C1"
    no piece: the number of the matrix
        "K0" -> "K3"

09.3
    nvcc: it begins with ptxsim run
        ptxsim run -> nvcc
    no dashes: behind two dashes
        -- 8 -> 8
    for an H100: capability 8.0
        --arch 80 ->
    nvcc's name of it: capability 8.0
        --arch 80 -> --arch sm_80
    no folder: a folder of headers
        -I include ->
    the folder of the sources: a folder of headers
        -I include -> -I src
    no limit: the seconds that one launch
        --limit 60 ->
    a minute: behind two dashes
        --limit 60 -> --limit 1m
    the report by the shell: behind two dashes
        --json -> >
    no report: the file for the report
        --json report.json ->
    nothing of its own: behind two dashes
        -- 8 ->
"""
)
