"""Who touched what, what orders them, and what is said where nothing does.

touches                 what was done to each piece of memory, and by whom
shadow                  the watch over one memory: an access meets the touches before it
unwatched               the same where nobody looks
orders                  what every thread has seen of its block, through barriers
proxies                 what the copy engine and the tensor cores may see of it
messages                what threads are told through memory: fences, release and acquire
dependent               values that another order of strong accesses changes
findings                a race in words
words_of_tensor_memory  the same in tensor memory
advice                  what would put it right, at this place
sentences               its sentences
wrong_place             races that no order mends: a thread is at another one's place by mistake
hazards                 the kinds of findings and their causes, and the list of those of a launch
"""
