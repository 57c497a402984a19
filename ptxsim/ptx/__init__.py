"""PTX text as a program.

facts       each instruction in a row: what others ask of it; what is not simulated, by name
opcode      an opcode and the types it names
program     text to a flat program: operands, jump targets, source lines and call lines; calls are inlined
limits      how large a program may be: what asks for more is refused before anything is made
flow        basic blocks, and where the ways of threads that part meet again
provenance  which arguments an address can come from, and which shared array
unset       registers that may be read before anything has written them
answers     registers that the program looks at
waits       loads that only wait, in a loop that does nothing else
branches    branches that threads of a block may take differently
speculated  loads from local memory that count only where a condition holds
chance      whether the order of the warps may change what a program does
guesses     reads with which an atomic begins that the GPU has not
locks       atomics that take a lock, writes that give it back
masks       masks out of an activemask
rounds      loops whose turns leave no trace
counted     loops that count to an end
repeats     loops whose counter does nothing but end them
updates     reads of a place whose value comes back there, changed
together    lanes that stay together at an `if` around one atomic
carried     values that go from one place in shared memory to another, and nowhere else
sunk        values that the compiler sets behind a wgmma.fence
"""
