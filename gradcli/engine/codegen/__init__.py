"""What does a machine run?

Regions as Python text (`python.py`), which is short and plain, and the oracle of the other back
ends; as machine code (`llvm.py`, for rows `llvm_rows.py`), if llvmlite is installed; and as CUDA C
(for rows `cuda.py`, for arrays `python_device.py`). `kernel.py` chooses.

A method that writes text or adds LLVM instructions *emits* them.
"""
