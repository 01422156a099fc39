"""What does a machine run?

Regions as Python text (`python`), which is short and plain, and the oracle of the other back ends;
as machine code (`llvm`, for many rows `llvm_rows`), if llvmlite is installed; and as CUDA C
(`cuda`). `kernel.py` chooses.

A method that writes text or adds LLVM instructions *emits* them.
"""
