"""What OpenBLAS is told in a process of gradcli's own."""

from __future__ import annotations

import os

import pytest

from gradcli.platform import blas, environment, ownership

AVX512 = "avx512f avx512cd avx512bw avx512dq avx512vl"
PROCESSOR = "processor\t: 0\nvendor_id\t: {}\nmodel name\t: A: B\nflags\t\t: {}\n"


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of gradcli's own on a new processor of AMD's, in which the user has chosen
    nothing."""
    for name in (blas.CORE, blas.PATIENCE, *blas.THREADS, ownership.VARIABLE):
        monkeypatch.setenv(name, "")  # so that what is put there is taken away again
        monkeypatch.delenv(name)
    monkeypatch.setattr(environment, "before", {})
    monkeypatch.setattr(ownership, "owned", True)
    monkeypatch.setattr(
        blas, "processor_description", lambda: PROCESSOR.format("AuthenticAMD", AVX512)
    )


def told() -> dict[str, str]:
    return {
        name: os.environ[name]
        for name in (blas.CORE, blas.PATIENCE, *blas.THREADS)
        if name in os.environ
    }


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
    assert blas.core_of(PROCESSOR.format(vendor, flags)) == core


def test_no_description_is_no_advice() -> None:
    assert blas.core_of("") == ""


def test_openblas_is_told_its_kernels_and_its_patience() -> None:
    blas.advise()
    assert told() == {blas.CORE: "SkylakeX", blas.PATIENCE: "20"}


def test_the_users_choice_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(blas.CORE, "Zen")
    monkeypatch.setenv(blas.THREADS[0], "4")
    blas.advise()
    blas.one_thread()
    assert told() == {
        **dict.fromkeys(blas.THREADS, "1"),
        blas.THREADS[0]: "4",
        blas.CORE: "Zen",
        blas.PATIENCE: "20",
    }


def test_programs_of_the_user_get_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(blas.PATIENCE, "26")
    blas.advise()
    blas.one_thread()
    given = environment.users_environment()
    assert {name: given[name] for name in told() if name in given} == {blas.PATIENCE: "26"}


@pytest.mark.parametrize("refused", [False, True])
def test_a_process_of_somebody_elses_is_left_alone(
    refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "allowed" if refused else "owned", False)
    blas.advise()
    blas.one_thread()
    assert told() == {}
