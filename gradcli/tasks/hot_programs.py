"""Programs that run again and again: a kernel answers once the runs have done much work.

What doesn't depend on the numbers is taken from a run of the interpreter on values of the same
kind: which outputs are differentiated by what, and the notes. So are the warnings; where they may
depend on the numbers, the interpreter runs the program once somebody reads them. Where the program
isn't compiled, is given other values, or its kernel steps back, the interpreter runs it at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.backends.backend import ieee
from ..engine.backends.tiers import DIFFERENTIATED, policy
from ..engine.execution import Compiled
from ..lang.program import Program
from .answer import Answer
from .evaluation import Evaluation, Options
from .matrices import filled
from .omissions import nonfinite

if TYPE_CHECKING:
    from ..engine.program_calls import Asked, ProgramCall

EACH = 2**6  # operations that a run is worth, beside those of the program
MAX_KINDS = 4  # of values that a program is compiled for
# Times the work so far: after a kernel that didn't pay yet, as lowering is a small part of
# compiling; and after one that couldn't be made, which is likely the same for other numbers.
TRIED_AGAIN, FAILED = 2, 8
AHEAD = 64  # times as many runs as there were are expected of a program that runs again and again


class Ready(NamedTuple):
    """A kernel for values of one kind.

    answered  what the interpreter answered to some of them
    missing   the pairs of names for which it found no gradient
    steady    whether all of them get the same warnings, if they have no gradient for the same pairs
    """

    call: ProgramCall
    answered: Evaluation
    missing: frozenset[tuple[str, str]]
    steady: bool


class HotProgram:
    """The runs of a program, compiled for these options.

    interpreted  what the interpreter answers to inputs
    """

    def __init__(
        self,
        compiled: Compiled,
        options: Options,
        interpreted: Callable[[Mapping[str, Any]], Evaluation],
    ) -> None:
        self._compiled, self._options, self._interpreted = compiled, options, interpreted
        self._tries = MAX_KINDS if options.is_plain and policy().writes else 0
        self._each = EACH + DIFFERENTIATED * compiled.operations
        self._work, self._hot = 0, policy().heat.work
        self._ready: list[Ready] = []
        # Else the interpreter fills in zeros for what is missing, or tells an error.
        self._explains_later = options.unconnected == "none"
        self._used = 0  # the work after which kernels are used
        # For the next run, if there is one, after so much work that this pays for lowering.
        self._make: Callable[[int], Ready | None] | None = None
        self._later = self._hot

    @property
    def has_kernels(self) -> bool:
        """Whether there is a kernel for values of any kind."""
        return bool(self._ready)

    def evaluation(self, inputs: Mapping[str, Any]) -> Evaluation | None:
        """The answer of a kernel; None if the interpreter must run the program."""
        if self._make is not None and self._work >= self._later:
            self._try_to_make(self._make)
        for ready in self._ready if self._work >= self._used else ():
            numbers = ready.call.numbers(inputs)
            if numbers is not None:
                found = self._answer(ready, numbers, inputs)
                if found is None:
                    self._used = self._work + self._hot  # so that it isn't tried again soon
                return found
        return None

    def _answer(
        self, ready: Ready, numbers: list[Any], inputs: Mapping[str, Any]
    ) -> Evaluation | None:
        """What a kernel answers to inputs, which are these numbers; None if the interpreter
        must."""
        started = time.perf_counter()
        found = ready.call.run(numbers)
        if found is None:
            return None
        pairs = [(of, by) for of, row in found.gradients.items() for by in row]
        missing = {(of, by) for of, by in pairs if found.gradients[of][by] is None}
        is_same = missing == ready.missing.intersection(pairs)
        if not ((is_same and ready.steady) or self._explains_later):
            return None
        answered = ready.answered
        for of, by in missing if is_same else ():
            found.gradients[of][by] = copy(answered.gradients[of][by])
        evaluation = Evaluation(
            answered.file,
            found.outputs,
            found.gradients,
            _filled_rows(found.jacobians, answered.jacobians),
            _filled_rows(found.hessians, answered.hessians),
            summed=[*answered.summed],
            diagnostics=[*answered.diagnostics],
            expectations=[*answered.expectations],  # where one fails, the kernel steps back
            notes=[*answered.notes],
            timings=[time.perf_counter() - started],
            mode=answered.mode,
        )
        if not (is_same and ready.steady):
            given = deepcopy(inputs)  # which the caller may change
            evaluation.explain_later(lambda: self._interpreted(given).diagnostics)
        return evaluation

    def _try_to_make(self, make: Callable[[int], Ready | None]) -> None:
        from ..engine.program_calls import TooLong

        try:
            ready = make(AHEAD * self._work)
        except TooLong:
            self._later = TRIED_AGAIN * self._work
            return
        self._make = None
        if ready is None or not (ready.steady or self._explains_later):
            self._later = FAILED * self._work
        else:
            self._ready.append(ready)

    def learn(self, inputs: Mapping[str, Any], answer: Answer, evaluation: Evaluation) -> None:
        """Takes note of a run of the interpreter, from which a kernel may be made."""
        self._work += self._each + answer.run.work
        if answer.missing:
            self._work += answer.passed  # statements, which a second run took, too, for the reasons
        if self._tries == 0 or self._work < self._later or self._make is not None:
            return
        if any(output is None for output in evaluation.outputs.values()):
            return  # a kernel steps back there, and gives gradients elsewhere
        if all(ready.call.numbers(inputs) is None for ready in self._ready):
            self._tries -= 1
            self._make = self._maker(inputs, answer, evaluation)

    def _maker(
        self, inputs: Mapping[str, Any], answer: Answer, evaluation: Evaluation
    ) -> Callable[[int], Ready | None] | None:
        """What makes a kernel for values of such kinds, if that pays for so much work, and there is
        one that answers as the interpreter does. It keeps nothing of the run."""
        if not answer.is_by_variables:
            return None
        of, by = (answer.targets, answer.sources) if self._options.grad else ({}, {})
        told = evaluation.diagnostics != self._compiled.facts.discarded or bool(answer.missing)
        forward = evaluation.mode == "forward"
        kind = self._options.dtype, self._options.device, self._options.seed
        asked = answer.node, dict(inputs), list(of), list(by), forward, answer.asked(), *kind
        missing = frozenset(answer.missing)
        return lambda work: _made(asked, evaluation, missing, told, work)


def _made(
    asked: tuple[
        Program, Mapping[str, Any], list[str], list[str], bool, Asked | None, str, str, int
    ],
    evaluation: Evaluation,
    missing: frozenset[tuple[str, str]],
    told: bool,
    work: int,
) -> Ready | None:
    """A kernel for what is asked of a program; None if there is none. `told`: whether the
    interpreter gave warnings. Raises TooLong where `work` doesn't pay for it."""
    from ..engine.program_calls import NoRule, NotCompiled, ProgramCall  # the compiler

    try:
        call = ProgramCall(*asked, work)
    except (NotCompiled, NoRule):
        return None
    steady = not told or (call.is_straight and call.has_none(missing))
    with ieee():  # sums of large numbers
        same = call.outputs == list(evaluation.outputs) and not nonfinite(evaluation)
        same = same and all(each.passed for each in evaluation.expectations)
    return Ready(call, evaluation, missing, steady) if same else None


Table = dict[str, dict[str, Any]]  # of derivatives: by target, and by what they are by


def _filled_rows(found: Table, answered: Table) -> Table:
    """A table of derivatives, with what the interpreter answered where nothing depends on the
    numbers."""
    return {
        of: {by: filled(found[of].get(by), value) for by, value in row.items()}
        for of, row in answered.items()
    }
