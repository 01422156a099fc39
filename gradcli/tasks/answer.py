"""What a run of a program answers: its outputs, and their derivatives by what was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Span, did_you_mean
from ..engine.analysis.declared import declared_names
from ..engine.analysis.facts import Facts
from ..engine.backends.backend import shape_of
from ..engine.execution import Compiled as Compiled
from ..engine.execution import Execution, compile_program, running
from ..engine.forward_runs import ForwardRuns
from ..engine.values.boxes import primal
from ..engine.values.kinds import UNSET, Variable, differentiable, leaves, read
from ..lang import program
from ..lang.program.liveness import of_program
from ..lang.program.walks import statements
from .evaluation import Evaluation, Options
from .omissions import has_floats, has_ints, notes

if TYPE_CHECKING:
    from ..engine.program_calls import Asked


def prepare(node: program.Program, options: Options, alone: bool = False) -> Compiled:
    """The program compiled for these options, to be run any number of times; `alone` if it is run
    for an evaluation only."""
    facts = Facts(node)
    asks = not facts.asks_for_nothing
    asks_in_rows = options.jacobian or options.hessian or options.hessian_blocks
    says_how = options.sparse or options.mode == "forward"
    liveness = None
    if alone and not node.has_modules:  # variables are found in names that may hold an instance
        liveness = of_program(node, (*options.of, *options.wrt))
    compiled = compile_program(options.settings, node, facts=facts, liveness=liveness)
    compiled.asks_for_structure = asks_in_rows and (says_how or not facts.has_few_elements)
    compiled.by_variables = alone and set(options.wrt) <= facts.declares and facts.asks_by_variables
    targets = options.of or (facts.not_requested if alone else None)
    compiled.once = not asks or facts.differentiates_once(targets)
    return compiled


def verify_inputs(node: program.Program, inputs: Mapping[str, Any], ignore_extra: bool) -> None:
    """Raises GradcliError (E003) for values that are given for names which the program doesn't
    declare. Whether there is an instance that has the variable `layer.w`, only the run can tell."""
    unknown = [] if ignore_extra else undeclared(node, inputs)
    if unknown:
        known = declared_names(node)
        raise GradcliError(
            *[unknown_input(n, known, "the program declares no", _paths(node, n)) for n in unknown]
        )


def undeclared(node: program.Program, inputs: Iterable[str]) -> list[str]:
    """The names that the program's text doesn't declare."""
    known = declared_names(node)
    return [n for n in inputs if n not in known and n not in _paths(node, n)]


def unknown_input(
    name: str, known: Sequence[str], said: str, paths: Sequence[str] = ()
) -> Diagnostic:
    """What there is to say, after `said`, of a value for a name that is none of the `known` ones;
    `paths` could be meant, too."""
    names = ", ".join(f"`{n}`" for n in known[:12]) or "nothing"
    otherwise = f"it declares {names}; --ignore-extra skips others"
    return Diagnostic(
        "E003",
        f"{said} `{name}`",
        help=did_you_mean(name, [*known, *paths]) or otherwise,
    )


def _paths(node: program.Program, name: str) -> list[str]:
    """What a path such as `layer.w` could be at any name of the top level, as far as the text
    tells."""
    rest = re.sub(r"^[^.\[]*", "", name)
    return [head + rest for head in node.names] if node.has_modules and rest else []


def verify_used(execution: Execution, variables: Mapping[str, Variable]) -> None:
    """Raises GradcliError (E003) for values given by the path of a variable that no instance
    had."""
    if names := unused(execution):
        known = [variable.name for variable in variables.values()]
        raise GradcliError(*[no_variable(n, known, "the program has no variable") for n in names])


def unused(execution: Execution) -> list[str]:
    """The paths that values were given for, and that no instance had."""
    run, known = execution.run, declared_names(execution.program)
    return [name for name in run.inputs if name not in known and name not in run.used_inputs]


def no_variable(name: str, known: Sequence[str], said: str) -> Diagnostic:
    """What there is to say, after `said`, of a value for the path of a variable that isn't one of
    the `known` ones."""
    names = ", ".join(f"`{n}`" for n in known[:12]) or "none"
    otherwise = f"its variables are {names}; --ignore-extra skips others"
    return Diagnostic("E003", f"{said} `{name}`", help=did_you_mean(name, known) or otherwise)


def answered(node: program.Program, inputs: Mapping[str, Any], options: Options) -> Answer:
    """The answer of one run, in reverse mode. Raises GradcliError where the run fails."""
    answer = Answer(Execution(prepare(node, options, alone=True), inputs).execute(), options)
    with running():
        answer.compute(None)
    return answer


# ---- what was asked for --------------------------------------------------------------------------


class Matrices(NamedTuple):
    """Jacobians and Hessians by target, as an `Execution` gives those of one."""

    jacobians: dict[str, list[Any]]
    hessians: dict[str, dict[tuple[int, int], Any]]


class Answer:
    """The targets and sources of an execution, and the derivatives of the ones by the others."""

    def __init__(self, execution: Execution, options: Options) -> None:
        self.execution, self.options = execution, options
        self.passed = execution.run.passed  # before the sweeps, which run loops, too
        self.node, self.run, self.facts = (
            execution.program,
            execution.run,
            execution.compiled.facts,
        )
        self.variables, self.outputs = execution.variables, execution.outputs
        self.requested = set() if options.of else self.facts.requested
        self.targets = (
            {name: self._named(name) for name in options.of}
            if options.of
            else self._automatic_targets()
        )
        self.others = {
            name: value for name, value in self.outputs.items() if name not in self.targets
        }
        self.sources = self._sources()
        self.ints: list[str] = []  # the outputs of ints that may be computed from variables
        self.gradients: dict[str, dict[str, Any]] = {}
        self.jacobians: dict[str, dict[str, Any]] = {}
        self.hessians: dict[str, dict[str, Any]] = {}
        self.missing: dict[tuple[str, str], None] = {}  # pairs of names that are unconnected

    def _named(self, name: str) -> Any:
        """The value of an output or a top-level name. Raises GradcliError (E003) if there is
        none."""
        if name in self.outputs:
            return self.outputs[name]
        if name in self.node.names:
            value = self.execution.name(name)
        else:
            value = self.variables.get(name, UNSET)
        if value is UNSET:
            known = list(dict.fromkeys([*self.outputs, *self.node.names, *self.variables]))
            help = (
                did_you_mean(name, known)
                or f"its names are {', '.join(f'`{n}`' for n in known[:12]) or 'none'}"
            )
            raise GradcliError(Diagnostic("E003", f"the program has no value `{name}`", help=help))
        return value

    def _automatic_targets(self) -> dict[str, Any]:
        """The outputs that get a gradient unasked: real floats, but for those that are derivatives
        themselves."""
        found = {}
        for name, value in self.outputs.items():
            try:
                if name not in self.requested and has_floats(value):
                    found[name] = value
            except GradcliError as error:  # it nests too deep
                raise error.at(_place(self.node, name)) from None
        return found

    def notes(self) -> list[str]:
        """Which outputs get no gradient unasked, and how to ask."""
        asked = not self.options.differentiates or self.options.of
        return notes(self.requested, self.others) if self.sources and not asked else []

    def find_ints(self) -> None:
        """Fills in which outputs would have a gradient unasked, if they weren't ints."""
        asked = not self.options.differentiates or self.options.of
        ints = [] if asked else [name for name, value in self.others.items() if has_ints(value)]
        self.ints = [name for name in ints if name in self.facts.of_variables] if ints else []

    def _sources(self) -> dict[str, Any]:
        """The variables, or what was asked for by name; the name of an instance stands for all its
        variables."""
        trainable = {path: v for path, v in self.variables.items() if v.kind == "var"}
        if not self.options.wrt:
            return trainable
        sources: dict[str, Any] = {}
        parts = [path for path in trainable if "." in path or "[" in path]
        for name in self.options.wrt:
            inside = {
                path: trainable[path] for path in parts if path.startswith((f"{name}.", f"{name}["))
            }
            sources.update(inside or {name: self._named(name)})
        return sources

    def compute(self, forward: ForwardRuns | None, matrices: Matrices | None = None) -> None:
        """What the options ask for: in reverse mode, a target at a time, by all sources at once.
        `matrices` are the Jacobians and Hessians, if something else has computed them."""
        execution, options, by = self.execution, self.options, self.sources
        names, sources = list(by), list(by.values())
        singles = [(name,) for name in names]
        along = {} if forward is None or not options.grad else self._along(forward)

        def zero(x: str) -> Any:
            return execution.zero_gradient(by[x])

        for of, target in self.targets.items():
            if along:
                self.gradients[of] = self._row(of, along[of], zero)
            elif options.grad:
                found = zip(singles, execution.gradients(target, sources), strict=True)
                self.gradients[of] = self._row(of, found, zero)
            if options.jacobian:
                blocks = (
                    execution.jacobians(target, sources, options.mode, options.sparse)
                    if matrices is None
                    else matrices.jacobians[of]
                )
                self.jacobians[of] = self._row(
                    of, zip(singles, blocks, strict=True), partial(self.zero_jacobian, target)
                )
            if options.hessian or options.hessian_blocks:
                pairs = (
                    execution.hessians(
                        target, sources, options.hessian_blocks, options.mode, options.sparse
                    )
                    if matrices is None
                    else matrices.hessians[of]
                )
                named = (((names[i], names[j]), block) for (i, j), block in pairs.items())
                self.hessians[of] = self._row(
                    of, named, lambda x, z: execution.zero_block(by[x], by[z], options.sparse)
                )

    @property
    def is_by_variables(self) -> bool:
        """Whether all sources are variables that have kept their names."""
        return not self.run.replaced and all(type(v) is Variable for v in self.sources.values())

    def asked(self, once: bool = False) -> Asked | None:
        """By which sweeps the Jacobians and Hessians are computed; None where none are asked
        for. `once`: it is asked for the numbers of this run alone."""
        options, execution = self.options, self.execution
        mixed, how = options.hessian_blocks, (options.mode, options.sparse)
        if not (options.jacobian or options.hessian or mixed):
            return None
        from ..engine.program_calls import Asked  # the compiler

        sources = list(self.sources.values())
        jacobians = {
            of: execution.jacobian_plans(target, sources, *how)
            for of, target in self.targets.items()
            if options.jacobian
        }
        hessians = {
            of: execution.hessian_plans(target, sources, mixed, *how)
            for of, target in self.targets.items()
            if options.hessian or mixed
        }
        return Asked(list(self.sources), jacobians, hessians, mixed, once)

    def _along(self, forward: ForwardRuns) -> dict[str, list[tuple[tuple[str, ...], Any]]]:
        """The gradients in forward mode: of each target, by each source."""

        def values(execution: Execution) -> dict[str, Any]:
            options = self.options.with_changes(of=tuple(self.targets))
            return Answer(execution, options).targets

        found = forward.gradients(self.run, self.targets, self.sources, values)
        return {of: [((by,), g) for by, g in row.items()] for of, row in found.items()}

    def _row(
        self, of: str, found: Iterable[tuple[tuple[str, ...], Any]], zero: Callable[..., Any]
    ) -> dict[str, Any]:
        """The derivatives of one target, under the names of what they are by. What there isn't is
        noted, and is what `zero` makes where the options say so."""
        row = {}
        for by, value in found:
            if value is None or any(
                self.is_replaced(name) or not differentiable(self.sources[name]) for name in by
            ):
                if by[0] == by[-1]:  # a mixed block is missing where the one by one of the two is
                    self.missing[of, by[0]] = None
                value = zero(*by) if self.options.unconnected == "zero" else None
            row[",".join(dict.fromkeys(by))] = value
        return row

    def zero_jacobian(self, target: Any, by: str) -> Any:
        """Zeros, as the Jacobian of a target by a source has them."""
        return self.execution.zero_block(target, self.sources[by], self.options.sparse)

    def is_replaced(self, name: str) -> bool:
        """Whether a variable has lost its name to a plain value, so that there is no gradient under
        it unasked."""
        return not self.options.wrt and name in self.run.replaced

    def fill(self, evaluation: Evaluation) -> None:
        evaluation.notes = self.notes()
        host = self.execution.host
        evaluation.outputs = {name: host(value) for name, value in self.outputs.items()}
        evaluation.gradients, evaluation.jacobians, evaluation.hessians = (
            {of: {by: host(value) for by, value in row.items()} for of, row in table.items()}
            for table in (self.gradients, self.jacobians, self.hessians)
        )
        names = evaluation.gradients | evaluation.hessians
        evaluation.summed = [name for name in names if self.is_summed(name)]

    def is_summed(self, name: str) -> bool:
        """Whether a target isn't a scalar, so that its gradient is that of the sum of its
        elements."""
        values = [primal(read(v)) for v in leaves(self.targets[name])]
        return len(values) != 1 or bool(shape_of(values[0]))


def _place(node: program.Program, output: str) -> Span:
    """Where the text says what an output is."""
    found = [expression.span for name, expression in node.results if name == output]
    for s in statements(node.body):
        if isinstance(s, program.Output):
            found += [value.span for name, value in s.items if name == output]
        elif isinstance(s, program.Assign) and isinstance(s.target, program.NameTarget):
            found += [s.span] if s.target.slot.name == output else []
    return found[-1]
