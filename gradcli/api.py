"""The Python door: `gradcli.load` and the program that it gives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .diagnostics import GradcliError, Source, did_you_mean
from .ops.registry import changes
from .tasks.evaluation import Evaluation, Options
from .tasks.foreign import apart, plain_inputs
from .tasks.programs import parse_program, read_source, texts_of

if TYPE_CHECKING:
    from .lang.program import Program as ResolvedProgram
    from .tasks.answer import Compiled
    from .tasks.hot_programs import HotProgram


def load(path: str | os.PathLike[str] | None = None, *, source: str | None = None) -> Program:
    """Parses a program once: the file at `path`, or the text `source`.

    Raises GradcliError with everything that is wrong with the program, or with the file.
    """
    if (path is None) == (source is None):
        raise TypeError("load() takes a path or source=…, one of the two")
    if path is not None:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"load() takes a path, not {type(path).__name__}, or source=…")
        return Program(parse_program(read_source(os.fspath(path))), Options())
    if not isinstance(source, str):
        raise TypeError(f"source=… is the text of a program, a str, not {type(source).__name__}")
    return Program(parse_program(Source("<source>", source.removeprefix("\ufeff"))), Options())


class Program:
    """A program that is ready to run, with its options. Immutable: each run starts from fresh
    state. Pickled, it is its text, with those of the files that it imports."""

    def __init__(self, resolved: ResolvedProgram, options: Options) -> None:
        self._resolved, self._options = resolved, options
        # At the first run, and again when the table of functions has changed.
        self._compiled: Compiled | None = None
        self._hot: HotProgram | None = None
        self._changes = 0

    def run(self, inputs: Mapping[str, Any] | None = None, /, **names: Any) -> Evaluation:
        """Runs the program with these inputs: numbers, bools, nested lists of them, NumPy arrays,
        and what NumPy can read: arrays of JAX, tensors of PyTorch, which are detached.

        Names with a path (`layer.w`) go into the mapping; keywords win over it. Raises GradcliError
        for errors of the inputs or the program; its `evaluation` then holds what was computed and
        printed before a run-time error. A failed `expect` isn't an error: see
        `Evaluation.expectations`.
        """
        from .tasks.evaluate import evaluate

        if inputs is None:
            inputs = {}
        elif not isinstance(inputs, Mapping):
            kind = type(inputs).__name__
            raise TypeError(f"run() takes a mapping of inputs, not {kind}: `run(x=…)`")
        values = plain_inputs({**inputs, **names})
        if self._resolved.is_expression and not self._resolved.names.keys() >= values.keys():
            # In a formula `e` and `pi` are inputs where they are given.
            program = Program(parse_program(self._resolved.source, values), self._options)
            if program._resolved.names.keys() != self._resolved.names.keys():
                return program.run(values)
        if self._compiled is None or self._changes != changes():
            from .tasks.answer import prepare
            from .tasks.hot_programs import HotProgram

            self._compiled = prepare(self._resolved, self._options, alone=True)
            compiled = self._compiled
            self._hot = HotProgram(
                compiled,
                self._options,
                lambda given: evaluate(self._resolved, given, self._options, compiled),
            )
            self._changes = changes()
        evaluation = evaluate(self._resolved, values, self._options, self._compiled, self._hot)
        if evaluation.errors:
            error = GradcliError(*evaluation.errors)
            error.evaluation = evaluation  # type: ignore[attr-defined]
            raise error
        evaluation.outputs = apart(evaluation.outputs, values)
        return evaluation

    def with_options(self, **options: Any) -> Program:
        """The same program under other options, those of `tasks.evaluation.Options`: of, wrt, grad,
        dtype, device, …"""
        known = [field.name for field in fields(Options)]
        for name in options:
            if name not in known:
                raise TypeError(
                    f"no option {name!r}: "
                    f"{did_you_mean(name, known) or 'the options are ' + ', '.join(known)}"
                )
        for name in ("of", "wrt"):
            if name in options:
                options[name] = _names(name, options[name])
        return Program(self._resolved, self._options.with_changes(**options))

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed, (*texts_of(self._resolved), self._options)

    def __repr__(self) -> str:
        return f"<gradcli program {self._resolved.span.source.name}>"


def _parsed(source: Source, imports: Mapping[str, str], options: Options) -> Program:
    return Program(parse_program(source, texts=imports), options)


def _names(option: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """The names that an option has. Raises TypeError for what is none."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable) or any(not isinstance(name, str) for name in names):
        raise TypeError(f"{option}={value!r}: it is a name, or a list of names")
    return tuple(names)
