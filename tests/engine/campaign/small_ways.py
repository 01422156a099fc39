"""Small programs in all tiers and modes: where what they tell differs from the interpreter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from gradcli.diagnostics import Diagnostic, GradcliError, Source
from gradcli.engine.backends.backend import is_inexact
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.execution import Execution
from gradcli.engine.lowering.programs import lower_program
from gradcli.engine.program_calls import NoRule, NotCompiled, ProgramCall
from gradcli.lang import program
from gradcli.tasks.answer import prepare
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Evaluation, Options
from gradcli.tasks.hot_programs import HotProgram
from gradcli.tasks.programs import parse_program

from .comparing import Allowed, difference
from .reducing import reduced
from .rounding import moved
from .small import SmallWriter
from .ways import Answer, answer

REVERSE = Options(mode="reverse")
FORWARD = Options(mode="forward")
SECOND = Options(mode="reverse", hessian=True)
WHOLE = Options(jacobian=True, hessian_blocks=True)
FORWARD_WHOLE = Options(mode="forward", grad=False, jacobian=True, hessian=True, sparse=True)
# What values depend on that is only the same up to rounding: derivatives, which add up in another
# order, and functions and products of arrays, whose bits are NumPy's.
ROUNDED = re.compile(r"grad|vjp|jvp|hvp|gradient|\bv\d|array|outer|sum|prod|norm|mean")
FRACTION = re.compile(r"\d+\.\d+(e[-+]\d+)?")  # a number that is printed
UPDATES = re.compile(r":[-+]?=")
DERIVATIVES = re.compile(r"grad|vjp|jvp|hvp|gradient")


class Told(NamedTuple):
    """All that a run tells: outputs and derivatives; and in words what it prints and expects, its
    warnings and its error, with their places, and the exit code."""

    answer: Answer
    words: tuple[Any, ...]


Expected = Callable[[], Told]  # what the interpreter tells, which runs when it is asked
Run = Callable[[program.Program, Options, Expected], Told | None]


class Way(NamedTuple):
    """How a program is run, and how many programs are: one of so many, by their seeds."""

    name: str
    run: Run
    tier: int
    options: Options
    one_of: int


def read(text: str) -> program.Program:
    return parse_program(Source("small.tg", text))


def by_parts(node: program.Program, options: Options, _: Expected | None = None) -> Told:
    """By the interpreter, with loops, calls and expressions as the tier has them."""
    try:
        return _told(evaluate(node, {}, options))
    except GradcliError as error:
        return Told(Answer({}), tuple(map(_diagnostic, error.diagnostics)))


def as_whole(node: program.Program, options: Options, expected: Expected) -> Told | None:
    """As one region, with its gradients. None where it is none, or the interpreter must run it;
    numbers are all that it tells."""
    told = expected()
    names = [name for name in told.answer.values if name.startswith("d") and "/" in name]
    targets = list(dict.fromkeys([name[1:].rpartition("/")[0] for name in names]))
    sources = list(dict.fromkeys([name.rpartition("/d")[2] for name in names]))
    try:
        call = ProgramCall(node, {}, targets, sources, options.mode == "forward")
    except (NotCompiled, NoRule):
        return None
    numbers = call.numbers({})
    found = None if numbers is None else call.run(numbers)
    if found is None:
        return None
    made = Evaluation("", outputs=found.outputs, gradients=found.gradients)
    return Told(answer(made), told.words)


def again_and_again(node: program.Program, options: Options, _: Expected) -> Told | None:
    """As Python runs it that has run it before with other numbers. None where no kernel answers,
    and where it updates variables: what they begin with isn't known then."""
    if UPDATES.search(node.span.source.text) or lower_program(node, {}).reasons:
        return None
    compiled = prepare(node, options, alone=True)
    hot = HotProgram(compiled, options, lambda given: evaluate(node, given, options, compiled))
    try:
        variables = Execution(compiled, {}).execute().variables
        given = {name: v.state for name, v in variables.items() if is_inexact(v.state)}
        others = {name: 0.1 - 0.7 * number for name, number in given.items()}
        evaluate(node, others, options, compiled, hot)
        hot.evaluation(given)  # which makes a kernel, if there can be one
        return _told(evaluate(node, given, options, compiled, hot)) if hot.has_kernels else None
    except GradcliError:
        return None


WAYS = (
    Way("by parts, Python text", by_parts, WRITTEN, REVERSE, 1),
    Way("as a whole, Python text", as_whole, WRITTEN, REVERSE, 2),
    Way("by parts, forward", by_parts, WRITTEN, FORWARD, 4),
    Way("as a whole, forward", as_whole, WRITTEN, FORWARD, 4),
    Way("second derivatives", by_parts, WRITTEN, SECOND, 4),
    Way("by parts, machine code", by_parts, NATIVE, REVERSE, 16),
    Way("as a whole, machine code", as_whole, NATIVE, REVERSE, 16),
    Way("second derivatives, machine code", by_parts, NATIVE, SECOND, 32),
    Way("again and again", again_and_again, WRITTEN, WHOLE, 2),
    Way("again and again, forward", again_and_again, WRITTEN, FORWARD_WHOLE, 4),
)


class Differed(NamedTuple):
    """Where a way differed from the interpreter, and of which program."""

    way: Way
    what: str
    text: str


def compared(seed: int, counts: Counter[str], every: bool = False) -> Iterator[Differed]:
    """The differences of the program of a seed; `counts` gets what was run. `every`: in all ways,
    not only in those that it is the turn of."""
    text = SmallWriter(seed).program()
    ways = [way for k, way in enumerate(WAYS) if every or (seed + k) % way.one_of == 0]
    counts["programs"] += 1
    for way, what in differences(text, ways, counts):
        counts["disagreements"] += 1
        yield Differed(way, what, text)


def differences(
    text: str, ways: Iterator[Way] | list[Way] | tuple[Way, ...], counts: Counter[str]
) -> Iterator[tuple[Way, str]]:
    """What some ways to run a program give that the interpreter doesn't."""
    try:
        node = read(text)
    except GradcliError:
        counts["programs that can't be read"] += 1
        return

    @cache
    def told(options: Options) -> Told:
        with only(INTERPRETED):
            found = by_parts(node, options)
        counts["runs that end with an error"] += _has_error(found)
        return found

    for way in ways:
        expected = partial(told, way.options)
        with only(way.tier, FIRST_USE):
            found = way.run(node, way.options, expected)
        counts[way.name] += found is not None
        if found is not None and (what := _difference(text, way.options, expected(), found)):
            yield way, what


def smallest(text: str, way: Way) -> str:
    """A small program that this way disagrees about, of one that it does."""

    def fails(smaller: str) -> bool:
        try:
            with only(INTERPRETED):
                first = by_parts(read(smaller), way.options.with_changes(max_steps=STEPS))
            endless = any(word[:1] == ("E403",) for word in first.words if type(word) is tuple)
            return not endless and bool([*differences(smaller, [way], Counter())])
        except GradcliError:
            return False

    return reduced(text, fails)


STEPS = 100_000  # of a program that ends


def _has_error(told: Told) -> bool:
    return any(type(word) is tuple and str(word[0]).startswith("E") for word in told.words)


def _difference(text: str, options: Options, expected: Told, found: Told) -> str:
    bits = not ROUNDED.search(text)
    if expected.words != found.words and (bits or _rounded(expected) != _rounded(found)):
        return f"tells {found.words}, and {expected.words}"
    if bits and (what := _bits(expected.answer, found.answer)):
        return what
    signs = not DERIVATIVES.search(text)
    what = difference(expected.answer, found.answer, True, signs)
    if not what:
        return ""

    def again(text: str, point: Mapping[str, Any]) -> Answer:
        return by_parts(read(text), options).answer

    allowed = Allowed(moved(text, {}, expected.answer, again), "infinite")
    return difference(expected.answer, found.answer, True, signs, allowed)


def _rounded(told: Told) -> list[Any]:
    """What is told in words, without the last digits of numbers that are printed."""

    def shorter(number: re.Match[str]) -> str:
        return f"{float(number[0]):.10g}"

    return [FRACTION.sub(shorter, word) if type(word) is str else word for word in told.words]


def _bits(expected: Answer, found: Answer) -> str:
    """Where outputs aren't the same to the last bit, signs of zeros and of nan aside."""
    for name, value in expected.values.items():
        other = found.values.get(name)
        both = type(value) is type(other) is float and "/" not in name
        if both and value != other and (value == value or other == other):
            return f"{name} bits: {other!r}, and {value!r}"
    return ""


def _told(evaluation: Evaluation) -> Told:
    words = (
        evaluation.exit_code,
        *evaluation.printed,
        *[(e.line, e.passed, e.message) for e in evaluation.expectations],
        *map(_diagnostic, evaluation.diagnostics),
    )
    found = answer(evaluation)
    for kind, derivatives in (("d2", evaluation.hessians), ("dd", evaluation.jacobians)):
        for of, row in derivatives.items():
            for by, value in row.items():
                found.values.update(_leaves(f"{kind}{of}/d{by}", value))
    return Told(found, words)


def _diagnostic(diagnostic: Diagnostic) -> tuple[str, ...]:
    place, calls = str(diagnostic.span), map(str, diagnostic.calls)
    return (diagnostic.code, diagnostic.message, diagnostic.label, place, diagnostic.help, *calls)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and arrays in a value, each with a name."""
    if not isinstance(value, list | dict):
        yield name, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(f"{name}.{key}", item)
