"""The limits of a command by themselves: what is in reach of the timer, of the watchdog, of the
memory limit."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from gradcli.cli.limits import limited, parse_memory, parse_timeout
from gradcli.diagnostics import GradcliError


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own: limits are the process's, and the watchdog ends it.

    What is `endless` is a function: Python 3.11 doesn't guard the jump of a loop that a `try` or a
    `with` begins with, so that an interruption may pass their handlers.
    """
    head = """
        from gradcli.cli.limits import limited
        from gradcli.diagnostics import GradcliError
        def last_words(diagnostic): print("last words:", diagnostic.code, flush=True)
        def endless():
            while True: pass
    """
    source = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("100M", 100 * 2**20), ("2G", 2**31), ("1.5g", 3 * 2**29), ("64KiB", 2**16), ("4096", 4096)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1M", "0", "1P", "ten"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(GradcliError, match="is not a size"):
        parse_memory(text)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_time(seconds: float) -> None:
    with pytest.raises(GradcliError, match="is not a time"):
        parse_timeout(seconds)


def test_without_limits_nothing_happens() -> None:
    with limited(None, None, pytest.fail):
        pass


def test_the_timer_interrupts_a_loop() -> None:
    done = python("""
        try:
            with limited(0.2, None, last_words):
                endless()
        except GradcliError as error:
            print(error.diagnostics[0].code, error.exit_code)
    """)
    assert done.stdout == "E404 4\n"


def test_the_watchdog_ends_what_does_not_come_back() -> None:
    done = python("""
        import hashlib
        with limited(0.2, None, last_words):
            hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000_000)  # minutes in C, like one long array operation
    """)
    assert done.stdout == "last words: E404\n"
    assert done.returncode == 4


def test_a_timer_that_comes_in_a_finalizer_comes_again() -> None:
    done = python("""
        import time
        class Slow:
            def __del__(self): time.sleep(0.5)
        try:
            with limited(0.1, None, last_words, grace=5.0):
                Slow()
                endless()
        except GradcliError as error:
            print("raised", error.diagnostics[0].code)
    """)
    assert (done.stdout, done.stderr) == ("raised E404\n", "")


def test_the_timer_is_gone_afterwards() -> None:
    done = python("""
        import time
        with limited(0.2, None, last_words): pass
        time.sleep(1)
        print("still here")
    """)
    assert done.stdout == "still here\n"


def test_where_python_has_no_memory_to_say_so() -> None:
    done = python("""
        for memory in (2**40, None):
            try:
                with limited(None, memory, last_words): raise SystemError("error return without exception set")
            except GradcliError as error:
                print(error.diagnostics[0].code)
            except SystemError as error:
                print(error)
    """)
    assert done.stdout == "E405\nerror return without exception set\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")
def test_memory() -> None:
    done = python("""
        import numpy as np
        kept = []
        try:
            with limited(None, 50_000_000, last_words):
                print(np.ones(1_000_000).sum())
                while True: kept.append(np.ones(1_000_000))
        except GradcliError as error:
            print(error.diagnostics[0].code, len(kept) <= 6)
        print(np.ones(20_000_000).sum())  # the limit is gone
    """)
    assert done.stdout == "1000000.0\nE405 True\n20000000.0\n"


def test_a_timeout_that_a_library_takes_for_an_error_of_its_own() -> None:
    done = python("""
        try:
            with limited(0.2, None, last_words):
                try:
                    endless()
                except Exception:
                    raise AttributeError("half of a module was imported")
        except GradcliError as error:
            print("raised", error.diagnostics[0].code)
    """)
    assert (done.stdout, done.stderr) == ("raised E404\n", "")
