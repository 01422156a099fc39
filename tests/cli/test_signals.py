"""Ctrl-C, wherever it comes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from gradcli.cli import run
from gradcli.cli.signals import sure_interrupts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")


def test_an_interrupt_is_not_lost_in_a_finalizer() -> None:
    class Raised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def forever() -> None:
        with sure_interrupts():
            Raised()  # which is freed at once
            while True:
                pass

    with pytest.raises(KeyboardInterrupt):
        forever()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("error")  # nobody is told that an exception was ignored
def test_an_interrupt_that_python_drops_comes_again() -> None:
    hook = sys.unraisablehook

    class Referred:
        pass

    def forever() -> None:
        with sure_interrupts():
            it = Referred()
            watched = weakref.ref(it, lambda _: signal.raise_signal(signal.SIGINT))
            del it
            while watched() is None:
                pass

    with pytest.raises(KeyboardInterrupt):
        forever()
    assert sys.unraisablehook is hook


def test_an_interrupt_in_a_text_that_runs_does_not_end_the_process(tmp_path: Path) -> None:
    """Python ends by the signal once it has interrupted `eval` or `exec` of a text."""
    program = tmp_path / "program.py"
    program.write_text("""
import signal, time
from gradcli.cli.signals import sure_interrupts

def ask():
    signal.raise_signal(signal.SIGINT)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:  # the interruption comes again meanwhile
        pass

try:
    with sure_interrupts():
        exec("ask()")
        while True:
            pass
except KeyboardInterrupt:
    print("interrupted")
""")
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


def test_a_text_that_calls_all_this_may_be_interrupted() -> None:
    """As one does that execnet runs the tests in."""

    def forever() -> None:
        with sure_interrupts():
            signal.raise_signal(signal.SIGINT)
            while True:
                pass

    names = {"forever": forever}
    exec("try:\n    forever()\nexcept KeyboardInterrupt:\n    caught = True", names)
    assert names["caught"]


def test_an_interrupt_while_the_prompt_goes_is_not_lost() -> None:
    """Neither in what asyncio runs, which prompt_toolkit reads with."""

    async def reads() -> str:
        signal.raise_signal(signal.SIGINT)
        with contextlib.suppress(asyncio.CancelledError):  # as cleaning up may do
            await asyncio.sleep(0)
        return "entry"

    with pytest.raises(KeyboardInterrupt), sure_interrupts():
        asyncio.run(reads())


def test_an_interrupt_leaves_the_time_limit_alone() -> None:
    """It comes again, and the timer of --timeout still runs."""
    from gradcli.cli.limits import limited
    from gradcli.diagnostics import GradcliError

    class Raised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def forever() -> None:
        while True:
            pass

    def interrupted() -> None:
        with sure_interrupts(), limited(1.0, None, lambda diagnostic: None):
            Raised()
            with pytest.raises(KeyboardInterrupt):
                forever()
            forever()

    with pytest.raises(GradcliError, match="--timeout"):
        interrupted()


@pytest.mark.parametrize("place", ["symbolic.closed_forms", "programs.parse_program"])
def test_what_an_import_makes_of_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    class Descriptor:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def imports(*given: object, **options: object) -> None:
        type("Class", (), {"attribute": Descriptor()})  # RuntimeError, says Python 3.11

    monkeypatch.setattr(f"gradcli.tasks.{place}", imports)
    assert run(["symbolic", "-e", "1"]) == 130
    assert capsys.readouterr() == ("", "")
