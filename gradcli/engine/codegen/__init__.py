"""What does a machine run?

Regions as Python text (`python.py`): short and plain, and the oracle of every other back end; and
as machine code (`llvm.py`), if llvmlite is installed.
"""
