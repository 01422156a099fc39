"""CUDA C as others build it: by NVRTC for a GPU, which needs none, and by a C++ compiler for this
machine.

For C++ a small header defines what is CUDA's; behind the kernel stands a function that runs it for
all threads, one after the other.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

COMPILER = shutil.which("c++") or shutil.which("g++")
OPTIONS = ("-O0", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-fno-builtin",
           "-fno-strict-aliasing", "-w")  # fmt: skip
# What the kernels use of CUDA.
HEADER = """\
#include <math.h>
#include <string.h>
#define __global__
#define __device__
struct Index { unsigned x; };
static thread_local Index gridDim, blockDim, blockIdx, threadIdx;
static inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline long long __double_as_longlong(double x) { long long i; memcpy(&i, &x, 8); return i; }
static inline double __longlong_as_double(long long i) { double x; memcpy(&x, &i, 8); return x; }
template <typename T> static inline T atomicAdd(T *at, T x) { T old = *at; *at += x; return old; }
"""
_THREADS = """
extern "C" void all_{name}(unsigned blocks, unsigned threads, {parameters}) {{
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) {name}({names});
}}
"""
_KERNEL = re.compile(r'^extern "C" __global__ void (\w+)\(([^)]*)\).*?^}\n', re.M | re.S)

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler here")


def for_host(text: str) -> str:
    """The text of kernels as C++."""

    def with_threads(found: re.Match[str]) -> str:
        whole, name, parameters = found.group(0, 1, 2)
        names = ", ".join([each.split()[-1].lstrip("*") for each in parameters.split(",")])
        return whole + _THREADS.format(name=name, parameters=parameters, names=names)

    return HEADER + _KERNEL.sub(with_threads, text)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cuda_as_cpp"))


def built(text: str) -> ctypes.CDLL:
    """A library with the kernels of a text, for this machine. Each, with `all_` before its name,
    takes how many blocks and threads of a block there are before its own parameters."""
    assert COMPILER is not None
    path = _folder() / hashlib.sha256(text.encode()).hexdigest()
    if not path.exists():
        source = path.with_suffix(".cpp")
        source.write_text(for_host(text))
        command = [COMPILER, *OPTIONS, str(source), "-o", str(path), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr)
    return ctypes.CDLL(str(path))


def launch(library: ctypes.CDLL, name: str, grid: tuple[int, int], arguments: list[Any]) -> None:
    """Runs a kernel for blocks of threads. Numbers are as ctypes has them."""
    getattr(library, f"all_{name}")(*map(ctypes.c_uint, grid), *arguments)


# ---- NVRTC ---------------------------------------------------------------------------------------


@cache
def _nvrtc() -> Any:
    """NVIDIA's compiler, if its wheel is installed."""
    try:
        import nvidia.cuda_nvrtc as wheel
    except ImportError:
        return None
    for folder in wheel.__path__:
        for found in sorted(
            [*Path(folder).glob("lib/libnvrtc.so.*"), *Path(folder).glob("bin/nvrtc64_*_0.dll")]
        ):
            return ctypes.CDLL(str(found))
    return None


def nvrtc_is_there() -> bool:
    return _nvrtc() is not None


def compiled_for_gpu(text: str, architecture: str = "compute_70", optimised: bool = True) -> bytes:
    """The text as PTX. Raises ValueError with what the compiler says, which is the same where
    nothing is `optimised`, and sooner."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    options = [b"--std=c++17", b"--fmad=false", f"--gpu-architecture={architecture}".encode()]
    options += [] if optimised else [b"--device-debug"]
    assert (
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"rows.cu", 0, None, None)
        == 0
    )
    try:
        failed = nvrtc.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options)
        )
        if failed:
            raise ValueError(_text(nvrtc, "ProgramLog", program).decode())
        return _text(nvrtc, "PTX", program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: Any, what: str, program: Any) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, found)
    return found.raw.rstrip(b"\0")
