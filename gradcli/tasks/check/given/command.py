"""Gradients from a program of the user's, which is run at a point: it reads the inputs as JSON and
answers in JSON.

On standard input it gets a mapping of names to values, as `--inputs` takes one. On standard output
it prints what `--against` reads from a JSON file: `{"value": 24.2, "gradient": {"x": [-215.6,
-88.0]}}`, or an answer of `gradcli eval`.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ....diagnostics import Diagnostic, GradcliError, printable
from ....engine.backends.backend import shape_of
from ....engine.values.contents import plain
from ....engine.values.kinds import Variable, read
from ....lang import program
from ....platform.environment import users_environment
from ..point import Point
from ..results import CheckOptions, Finding
from .comparing import compare
from .reading import read_json

FAILED, LATE = "E613", "E614"
CODES = (FAILED, LATE)
LAST_LINES = 5  # of what a program that failed said
LONGEST = 200  # characters of its output that a message shows
MOST = 64 * 2**20  # bytes of its output that are read, some three million numbers
LAST_BYTES = 2**16  # that are kept of what it says on standard error
CHUNK = 2**16


def ask(options: CheckOptions, point: Point) -> list[Finding]:
    """What the program answers at a point, compared with the gradients there. Raises GradcliError:
    E613 where it can't be run, fails or prints anything but gradients, E614 where it takes longer,
    or prints more, than it may."""
    name = options.command[0]
    answer = _run(options.command, json.dumps(_inputs(point)), options.patience)
    try:
        return compare(
            point,
            read_json(
                answer,
                f"the output of `{name}`",
                point.program.node.source.name,
                "command's answer",
            ),
            options,
        )
    except GradcliError as error:
        beginning = printable(answer.strip()[:LONGEST]) or "nothing"
        first = error.diagnostics[0]
        _fail(
            FAILED,
            f"`{name}` didn't answer with gradients: {first.message}",
            f"it printed {beginning}",
            first.help,
        )


def _inputs(point: Point) -> dict[str, Any]:
    """The values of everything that can be set from outside, as JSON has them."""
    variables = {
        path: read(v)
        for path, v in {**point.run.declared, **point.answer.variables}.items()
        if type(v) is Variable
    }
    for node in point.program.node.body:
        if isinstance(node, program.Declare) and node.kind == "const":
            variables[node.slot.name] = point.execution.name(node.slot.name)
    return {path: _plain(plain(value)) for path, value in variables.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list) or shape_of(value):
        return [_plain(part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, complex):
        return {"re": _plain(value.real), "im": _plain(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _run(words: Sequence[str], given: str, patience: float) -> str:
    """What a program prints on standard output. It leads a process group of its own, which ends
    with it."""
    name = words[0]
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=users_environment(),
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        _fail(
            FAILED,
            f"cannot run `{name}`: {reason}",
            help="the command is a program with its arguments, without a shell",
        )
    ended = False
    try:
        output, said = _exchange(process, given.encode(), patience)
        ended = True
    except subprocess.TimeoutExpired:
        _fail(
            LATE,
            f"`{name}` took longer than {patience:g} s",
            help="--command-timeout SECONDS gives it more",
        )
    except _TooMuchError:
        help = "it must print the value and the gradient as JSON, and nothing else"
        _fail(LATE, f"`{name}` printed more than {MOST // 2**20} MiB", help=help)
    finally:
        if not ended:
            _end(process)
    if process.returncode:
        last = [
            printable(line) for line in said.decode(errors="replace").splitlines()[-LAST_LINES:]
        ]
        _fail(
            FAILED,
            f"`{name}` {_ending(process.returncode)}",
            " ␊ ".join(last) or "it said nothing on standard error",
        )
    return output.decode(errors="replace")


class _TooMuchError(Exception):
    """A program has printed more than MOST."""


def _exchange(
    process: subprocess.Popen[bytes], given: bytes, patience: float
) -> tuple[bytes, bytes]:
    """Writes to a program what it is given, and reads what it prints until it ends: on standard
    output, and of standard error the last. Raises TimeoutExpired, and _TooMuchError as soon as it
    has printed more than MOST."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    deadline, unwritten = time.monotonic() + patience, memoryview(given)
    output, said = bytearray(), bytearray()
    streams = {
        stream.fileno(): stream for stream in (process.stdin, process.stdout, process.stderr)
    }
    with selectors.DefaultSelector() as open_ones:
        os.set_blocking(process.stdin.fileno(), False)
        open_ones.register(process.stdin, selectors.EVENT_WRITE)
        open_ones.register(process.stdout, selectors.EVENT_READ, output)
        open_ones.register(process.stderr, selectors.EVENT_READ, said)
        while open_ones.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, patience)
            for key, _ in open_ones.select(left):
                if key.data is None:
                    unwritten = unwritten[_written(key.fd, unwritten) :]
                    is_done = not unwritten
                else:
                    chunk = os.read(key.fd, CHUNK)
                    key.data.extend(chunk)
                    is_done = not chunk
                if is_done:
                    stream = streams[key.fd]
                    open_ones.unregister(stream)
                    stream.close()
            if len(output) > MOST:
                raise _TooMuchError
            del said[:-LAST_BYTES]
    process.wait(max(deadline - time.monotonic(), 0.0))
    return bytes(output), bytes(said)


def _written(descriptor: int, data: memoryview) -> int:
    """Writes what fits, and returns how much that was; all, where the program doesn't read any
    more."""
    try:
        return os.write(descriptor, data[:CHUNK])
    except BrokenPipeError:
        return len(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    return f"was ended by signal {-code} ({signal.Signals(-code).name})"


def _fail(code: str, message: str, label: str = "", help: str = "") -> NoReturn:
    raise GradcliError(Diagnostic(code, message, label=label, help=help)) from None
