"""How NumPy is loaded: what its OpenBLAS is told."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradcli.engine.backends import blas
from gradcli.engine.backends.blas import blas_core

AVX512 = "avx512f avx512cd avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("vendor", "flags", "core"),
    [
        ("AuthenticAMD", f"fpu sse2 avx2 {AVX512} avx512_bf16", "SkylakeX"),
        ("AuthenticAMD", "fpu sse2 avx2", ""),
        ("AuthenticAMD", f"fpu sse2 avx2 {AVX512.removesuffix(' avx512vl')}", ""),
        ("GenuineIntel", f"fpu sse2 avx2 {AVX512}", ""),
    ],
)
def test_the_kernels_for_a_processor(vendor: str, flags: str, core: str) -> None:
    assert blas_core(f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: A: B\nflags\t\t: {flags}\n") == core


def test_no_description_is_no_advice() -> None:
    assert blas_core("") == ""


LOAD = """
import os, sys
from gradcli.engine.backends import backend as backends, blas
blas.blas_core = lambda processor: "Haswell"
names = "OPENBLAS_CORETYPE", "OPENBLAS_THREAD_TIMEOUT"
seen = []
load = backends.importlib.import_module
backends.importlib.import_module = lambda name: seen.append([os.environ.get(n) for n in names]) or load(name)
backends.CPU.xp
print(*seen[0], *[os.environ.get(n) for n in names])
"""


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "Haswell 20 None None"),
        ({"OPENBLAS_CORETYPE": "Zen"}, "Zen 20 Zen None"),
        ({"OPENBLAS_THREAD_TIMEOUT": "26"}, "Haswell 26 None 26"),
    ],
)
def test_openblas_is_told_while_it_is_loaded_and_the_users_choice_stands(chosen: dict[str, str], said: str) -> None:
    if not blas._has_openblas():
        pytest.skip("NumPy has another BLAS here")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | chosen
    done = subprocess.run([sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said
