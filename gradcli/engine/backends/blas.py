"""What OpenBLAS, which multiplies matrices for NumPy and SciPy, is told before it is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CORE, _PATIENCE = "OPENBLAS_CORETYPE", "OPENBLAS_THREAD_TIMEOUT"
_AVX512 = frozenset(("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"))  # what OpenBLAS's kernels need
_TICKS = "20"  # of the processor's clock, as a power of two: about a third of a millisecond


@contextmanager
def blas_advised() -> Iterator[None]:
    """Tells the OpenBLAS in the wheels of NumPy and SciPy what it reads once, when it is loaded; the choices of the user, and any
    other BLAS, are left alone. Where NumPy is loaded before gradcli is, nothing can be done.

    What kernels to use, where it guesses wrong: it doesn't know AMD's newer cores, and multiplies matrices at half their speed.
    And how long its threads are to turn round before they sleep, where nobody has work for them: by itself it has them keep
    a core busy for 20 ms, from the moment that it is loaded, at the cost of whoever needs that core.
    """
    core = "" if _CORE in os.environ or "numpy" in sys.modules else blas_core(_processor())
    advice = {_CORE: core} if core and _has_openblas() else {}
    if _PATIENCE not in os.environ:
        advice[_PATIENCE] = _TICKS
    os.environ.update(advice)
    try:
        yield
    finally:
        for name in advice:
            os.environ.pop(name, None)  # other processes may have another OpenBLAS


def blas_core(processor: str) -> str:
    """OpenBLAS's name of the kernels for a processor, as /proc/cpuinfo describes it; "" where its own guess is right."""
    facts = dict(line.split(":", 1) for line in processor.splitlines() if ":" in line)
    words = {key.strip(): value.split() for key, value in facts.items()}
    unknown = words.get("vendor_id") == ["AuthenticAMD"] and set(words.get("flags", [])) >= _AVX512
    return "SkylakeX" if unknown else ""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read(8192).partition("\n\n")[0]
    except OSError:
        return ""  # not Linux


def _has_openblas() -> bool:
    """Whether NumPy is a wheel that has its OpenBLAS beside it."""
    from importlib.util import find_spec

    spec = find_spec("numpy")
    folder = os.path.join(os.path.dirname(os.path.dirname(spec.origin or "")), "numpy.libs") if spec is not None else ""
    return os.path.isdir(folder) and any("openblas" in name for name in os.listdir(folder))
