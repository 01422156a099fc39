"""How many processes are worth it, and what each leaves to the others."""

from __future__ import annotations

import os

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> None:
    """Multiplies matrices in one thread, where NumPy isn't loaded yet and the user doesn't say otherwise: the other cores have
    work of their own."""
    for threads_of in BLAS_THREADS:
        os.environ.setdefault(threads_of, "1")
