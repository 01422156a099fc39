"""What the library that multiplies matrices for NumPy and SciPy is told in a process of gradcli's
own, before it is loaded.

It reads these variables of the environment once. The user's choices stand.
"""

from __future__ import annotations

from .environment import put_unless_given
from .ownership import may_arrange

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
CORE, PATIENCE = "OPENBLAS_CORETYPE", "OPENBLAS_THREAD_TIMEOUT"
_AVX512 = frozenset(
    ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl")
)  # what OpenBLAS's kernels need
_TICKS = "20"  # of the processor's clock, as a power of two: about a third of a millisecond


def advise() -> None:
    """Tells OpenBLAS what it can't find out.

    What kernels to use, where it guesses wrong: it doesn't know AMD's newer cores, and multiplies
    matrices at half their speed. And how long its threads are to turn round before they sleep,
    where nobody has work for them: by itself it has them keep a core busy for 20 ms, from the
    moment that it is loaded, at the cost of whoever needs that core.
    """
    if not may_arrange():
        return
    put_unless_given(PATIENCE, _TICKS)
    if core := core_of(processor_description()):
        put_unless_given(CORE, core)


def one_thread() -> None:
    """Multiplies matrices in one thread: the other cores have work of their own."""
    if may_arrange():
        for threads_of in THREADS:
            put_unless_given(threads_of, "1")


def core_of(processor: str) -> str:
    """OpenBLAS's name of the kernels for a processor, as /proc/cpuinfo describes it; "" where its
    own guess is right."""
    facts = dict(line.split(":", 1) for line in processor.splitlines() if ":" in line)
    words = {key.strip(): value.split() for key, value in facts.items()}
    unknown = words.get("vendor_id") == ["AuthenticAMD"] and set(words.get("flags", [])) >= _AVX512
    return "SkylakeX" if unknown else ""


def processor_description() -> str:
    """How the system describes the first processor; "" where it doesn't."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read(8192).partition("\n\n")[0]
    except OSError:
        return ""  # not Linux
