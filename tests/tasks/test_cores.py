"""How many processes are worth it, and what each leaves to the others."""

from __future__ import annotations

import os

import pytest

from gradcli.tasks.cores import BLAS_THREADS, cores, one_thread


def test_there_is_a_core() -> None:
    assert cores() >= 1


def test_products_take_one_thread_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BLAS_THREADS:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv(BLAS_THREADS[0], "4")
    one_thread()
    assert [os.environ[name] for name in BLAS_THREADS] == ["4", "1", "1"]
