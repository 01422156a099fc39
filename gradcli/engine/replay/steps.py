"""The steps of a history: records that are evaluated again on other operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...diagnostics import CallSite
from ..ad.held_values import Held
from ..ad.own_rules import OwnCall
from ..backends.backend import is_complex
from ..operations.apply import without_writing
from ..operations.elementwise import elementwise
from ..operations.structural import structural
from ..trace.records import Record, newest_first, record_in
from ..trace.run import Run
from ..trace.tape import Segment, Site, Traced, reachable
from .continuation import continued


class Exactly(NamedTuple):
    """The value of a source at another point, where adding a difference to it would round."""

    value: Any


class Step(NamedTuple):
    """A record that depends on a source. `refs` are the positions and the numbers of the operands
    that do.

    `body` has the values that the body of a function returned, where the step is a call of a
    function with its own derivative rule; `function` computes an elementwise step on floats, or one
    that reads or changes an element, without asking what its operands are."""

    number: int
    site: Site
    operands: tuple[Any, ...]
    options: Any
    refs: tuple[tuple[int, int], ...]
    body: list[Any] | None
    segment: Segment
    function: Callable[..., float] | None = None

    @property
    def calls(self) -> tuple[CallSite, ...]:
        return self.segment.calls_to(self.number)

    @property
    def call_options(self) -> Mapping[str, Any]:
        """The options as the operation takes them: an index by its name, and nothing is written in
        place."""
        options = self.options
        return {"index": options} if type(options) is tuple else without_writing(options)

    def body_parts(self, value: Callable[[int, Any], Any]) -> list[Any]:
        """What the body returned, with the values of now: `value(number, saved)` gives them."""
        assert self.body is not None
        return [value(v.number, v.primal) if type(v) is Held else v for v in self.body]


def compute(run: Run, step: Step, operands: list[Any], continues: bool = False) -> Any:
    """The result of a step for other operands; a list if it has several results. With `continues`,
    complex operands are real numbers with infinitesimal imaginary parts."""
    site, options = step.site, step.call_options
    if site.op.name == "part":
        return operands[0][options["index"]] if type(operands[0]) is list else operands[0]
    if continues and any(map(is_complex, operands)):
        return continued(run, site, operands, options)
    if site.op.elementwise:
        return elementwise(run, site, operands)
    return structural(run, site, operands, options)


def needed(targets: Sequence[Traced]) -> list[Record]:
    """The records in the history of the targets, newest first. Those in the bodies of functions
    with their own derivative rule are included."""
    numbers = {target[1] for target in targets}
    found = []
    for segment, number in newest_first(reachable([target[2] for target in targets], 0)):
        if number not in numbers:
            continue
        record = record_in(segment, number)
        numbers.update(record.inputs)
        if type(record.b) is OwnCall and record.b.body is not None:
            numbers.update([part.number for part in record.b.body if type(part) is Held])
        found.append(record)
    return found
