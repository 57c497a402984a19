"""Deeper, lesson 03: pages to repair."""

from tests.lessons.tables import answers_beside

NOTEBOOK = "03_pages_to_repair"

SHARED = "    __shared__ TileType smem_buffer[2];"
LAST_BARRIER = f"    __syncthreads();{' ' * 34}// with one tile there was no barrier yet\n"
LOAD_TILE = "        load_tile(data[k], smem_buffer[produce_stage]);\n"
COMPUTE = "        compute(smem_buffer[consume_stage]);\n"

AHEAD_BARRIER = f"        __syncthreads();{' ' * 30}// this k-tile is complete, the other buffer is free\n"

RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
