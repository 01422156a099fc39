"""How are numbers, arrays, lists and dicts made, read and changed?

The first classes of `Lowering`, from numbers up to elements.
"""
