"""Which parts of a program are regions, and what are they in IR?

Lowering reads resolved nodes with the types that values have at the entry of a region. Functions
are inlined where they are called, but for those that call themselves, which are regions of their
own; lists, dicts and small arrays are scalars. What isn't compiled raises `NotCompiled`, with the
reason and its place.

Lowering executes a program on values that aren't there yet. What a name or an expression holds
meanwhile is called `held`: a value of the IR; a tuple for a list; an `Array`, a `Mixed` or a
`Record` of values (`held/kinds.py`); or what is known without running, such as a function or a
variable (`held/names.py`).

The lowering of a region is one object, of the class `Lowering`. Each file adds one class to it,
which inherits from that of the file below.
"""
