"""What `why` is asked about: values by name, or single elements of them, `x[1]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..diagnostics import Diagnostic, GradcliError
from ..engine.backends.backend import shape_of
from ..engine.execution import Execution
from ..engine.values.boxes import primal
from ..engine.values.kinds import List, read, show_shape
from .answer import Answer
from .evaluation import Options

_ELEMENT = re.compile(r"(.+?)((?:\[\s*-?\d+(?:\s*,\s*-?\d+)*\s*\])+)")


class Part(NamedTuple):
    """A target or a source: its name, its value, and of an array the index of the element that is
    meant, None for all."""

    name: str
    value: Any
    place: tuple[int, ...] | None = None


class Question:
    """The targets and sources of an execution. Raises GradcliError (E003) for names and elements
    that there aren't."""

    def __init__(self, execution: Execution, options: Options) -> None:
        node = execution.program
        self.options = options
        results = [name for name, _ in node.results]
        known = {*node.names, *execution.variables, *execution.run.outputs, *results}
        split = {
            name: m.groups()
            for name in (*options.of, *options.wrt)
            if name not in known and (m := _ELEMENT.fullmatch(name))
        }
        whole = {
            name: split[name][0] if name in split else name for name in (*options.of, *options.wrt)
        }
        of, wrt = (
            tuple(dict.fromkeys(whole[name] for name in names))
            for names in (options.of, options.wrt)
        )
        self.answer = Answer(execution, options.with_changes(of=of, wrt=wrt))
        self.targets = list(_parts(self.answer.targets, options.of, split))
        self.sources = list(_parts(self.answer.sources, options.wrt, split))


def _parts(
    values: Mapping[str, Any], names: Iterable[str], split: Mapping[str, tuple[str, ...]]
) -> Iterator[Part]:
    """The values as they were asked for; all of them where the names, such as that of an instance,
    are those of others."""
    elements = [name for name in names if name in split]
    bases = {split[name][0] for name in elements} - set(names)
    yield from (Part(name, value) for name, value in values.items() if name not in bases)
    for name in elements:
        base, brackets = split[name]
        yield _element(name, values[base], [int(k) for k in re.findall(r"-?\d+", brackets)])


def _element(name: str, value: Any, index: list[int]) -> Part:
    while index and type(read(value)) is List:
        items, k = read(value).items, index.pop(0)
        if not -len(items) <= k < len(items):
            raise GradcliError(
                Diagnostic(
                    "E003", f"there is no `{name}`", help=f"the list has {len(items)} entries"
                )
            )
        value = items[k]
    if not index:
        return Part(name, value)
    shape = shape_of(primal(read(value)))
    if len(index) != len(shape) or any(not -n <= k < n for k, n in zip(index, shape, strict=True)):
        help = f"its shape is {show_shape(shape)}" if shape else "it isn't an array"
        raise GradcliError(Diagnostic("E003", f"there is no element `{name}`", help=help))
    return Part(name, value, tuple([k % n for k, n in zip(index, shape, strict=True)]))
