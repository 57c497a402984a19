"""`hiding-latency serve`: the book, and a compiler for those who read it in a browser or on a Mac.

limits     how much anybody may ask for
questions  what is asked, read and judged before a compiler sees it
worker     a process that holds the compiler; each text is compiled in a copy of it that can open nothing
listing    the disassembler, started by such a copy within its limits
walls      what keeps it from all files but its own
pool       who waits for the compiler, and what was compiled already
files      the files of the book
server     HTTP: who may ask, until when, and what comes back

What is sent is compiled and never run.
"""
