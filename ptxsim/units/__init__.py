"""What a multiprocessor has besides its arithmetic.

access         the one way of every memory instruction
copies         cp.async in flight, groups and waits
mbarriers      mbarriers: phases, arrivals, bytes
bulk           Hopper's copy engine: copies in flight
async_math     wgmma in flight: what it reads, the registers that it holds
async_reads    what tensor cores read in shared memory meanwhile
tensor_memory  tcgen05: columns, products in flight, loads and stores
tensor_orders  what orders accesses to tensor memory
tensor_fences  tcgen05.fence, and what is noted where one lacks
barriers       lanes that wait for others: barriers, named barriers, instructions of a warp
registers      registers that warpgroups give back and take: setmaxnreg
unset          what would come out if registers that nobody has set held something else
divergence     barriers that not all threads come to
leaving        copies that nobody waited for when their block ends
clusters       blocks that touch each other's shared memory; their barrier
turns          which lanes can go on, and which of them run next
dependents     a launch that begins before the kernel before has ended
"""
