"""Which parts of a program are regions, and what are they in IR?

Lowering reads resolved nodes with the types that values have at the entry of a region. Functions
are inlined where they are called, but for those that call themselves, which are regions of their
own; lists, dicts and small arrays are scalars. What isn't compiled raises `NotCompiled`, with the
reason and its place.
"""
