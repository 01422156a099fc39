"""Which parts of a program are regions, and what are they in IR?

Lowering reads resolved nodes with the types that values have at the entry of a region. Functions
are inlined where they are called; what isn't compiled raises `NotCompiled`, with the reason and its
place.
"""
