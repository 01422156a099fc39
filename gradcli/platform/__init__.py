"""What gradcli changes of the process that it runs in; docs/python.md tells users of it.

A process of gradcli's own, which runs a command or is a worker of one, is arranged for the work
(`arranging`): the garbage collector runs seldom, the C library keeps freed memory (`memory`), the
library that multiplies matrices is told what it can't find out (`blas`), and modules aren't looked
for in the current folder (`search_path`).

A process that imports gradcli is somebody else's. Nothing in it is changed for good; while a
program runs, the collector pauses (`collector`) and functions may call each other deeper
(`recursion`).

GRADCLI_PLATFORM=0 leaves all of it as it is (`ownership`), except for the search path, which keeps
strangers' code out.
"""
