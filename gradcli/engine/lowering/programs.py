"""A whole program as one region, and the statements of it that are in no region."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ...lang import program
from ...lang.program.liveness import of_program
from ...lang.program.walks import own_nodes
from ..backends.backend import INT_MAX
from ..ir.builder import Builder, TooLong
from ..ir.instructions import Block, Region, Value
from ..ir.printer import text
from ..ir.types import BOOL, F64, I64, OF_DTYPE, ArrayType, Scalar, element_of, has_floats
from ..passes.calls import Regions
from ..passes.copying import needed_for, used
from ..passes.expansion import expand
from .held.flow import assigned, is_draw
from .held.kinds import Array, Kind, Mixed, Stored, array_kind, flat, fresh, is_value, kind_of
from .held.names import Members, Name, NotCompiled, Unknown
from .statements import Lowering

MOST = 2**16  # instructions: compiling more takes a minute and gigabytes
_NUMERIC = Scalar | Array | Stored  # kinds of numbers and arrays
_LEFT_OUT = (program.Print, program.Expect, program.ExpectError, program.Output)  # of imports


class Initial(NamedTuple):
    """The initial value of a variable, computed as the program does: a region whose result has the
    variable's kind, and the positions of the program's parameters that it takes."""

    region: Region
    takes: list[int]


class Lowered:
    """A program in IR.

    original    its region before derivative rules are written out, the form to be differentiated.
                Parameters are the states of the variables, results the outputs
    regions     those that it calls, in the same form, and their derivatives
    parameters  the names of the variables, each with its kind
    results     the names of the outputs, each with its kind
    reasons     why statements aren't in it, in order
    states      the initial values of variables that aren't given from outside
    """

    def __init__(
        self,
        original: Region,
        regions: Regions,
        parameters: dict[str, Kind],
        results: dict[str, Kind],
        reasons: list[NotCompiled],
        states: dict[str, Initial],
    ) -> None:
        self.original, self.regions = original, regions
        self.parameters, self.results = parameters, results
        self.reasons, self.states = reasons, states

    @cached_property
    def region(self) -> Region:
        """The region, with operations of the table alone."""
        return expand(self.original)

    @cached_property
    def others(self) -> list[Region]:
        """The regions that it calls, with operations of the table alone."""
        return [expand(called) for called in self.regions.called_by(self.original)]

    @property
    def text(self) -> str:
        """The regions as text."""
        return text([self.region, *self.others])


def lower_program(
    node: program.Program,
    inputs: Mapping[str, Any],
    for_rows: bool = False,
    real: Scalar = F64,
    seed: int = 0,
    most: int | None = None,
) -> Lowered:
    """The region of a program. `inputs` are values from outside by name, of which only the types
    count. `for_rows`: whether it is for rows, as `Lowering` says. `real` is the type of its floats;
    `seed` is the seed of random numbers. Raises TooLong for more than `most` instructions."""
    return _Main(node, inputs, for_rows, real, seed, most).lowered()


class _Main:
    def __init__(
        self,
        node: program.Program,
        inputs: Mapping[str, Any],
        for_rows: bool,
        real: Scalar,
        seed: int,
        most: int | None,
    ) -> None:
        self.node, self.inputs = node, inputs
        self.most = MOST if most is None else min(most, MOST)
        self.block = Block()
        self.lowering = Lowering(Builder(self.block, real, self.most), of_program(node))
        self.lowering.for_rows, self.lowering.traces_variables = for_rows, True
        self.lowering.puts_lists_in_memory = self.lowering.is_whole = True
        self.parameters: dict[str, Kind] = {}
        self.results: dict[str, Any] = {}
        self.reasons: list[NotCompiled] = []
        self.states: dict[str, Initial] = {}
        self.constants: set[int] = set()  # the positions of their parameters
        self.variables: list[Any] = []  # what the other names hold that are declared
        self.imports: dict[int, Members] = {}  # by the identity of the program
        self.path = ""  # of the import that is being lowered, with a dot
        everything = list(own_nodes(node.body, frozenset()))
        self.updates = any(isinstance(inner, program.Update) for inner in everything)
        self.has_variables = self.updates or any(map(_asks_of_variables, everything))
        if seed <= INT_MAX and any(map(is_draw, everything)):
            self.lowering.begin_draws(*map(self.lowering.builder.constant, (seed, 0)))

    def lowered(self) -> Lowered:
        span = self.node.span
        try:
            for statement in self.node.body:
                span = statement.span
                self.statement(statement)
            if not self.results:
                for name, expression in self.node.results:
                    span = expression.span
                    self.output(name, expression)
        except TooLong:
            if self.most < MOST:
                raise
            reason = NotCompiled(f"more than {MOST} instructions are not compiled", span)
            return Lowered(Region("main", Block()), Regions(), {}, {}, [reason], {})
        self.block.results = tuple(flat(*self.results.values()))
        kinds = {name: kind_of(held) for name, held in self.results.items()}
        region, regions = Region("main", self.block), self.lowering.regions
        return Lowered(region, regions, self.parameters, kinds, self.reasons, self.states)

    def statement(self, node: Any) -> None:
        held, frame = dict(self.lowering.names.held), self.lowering.frame
        try:
            with self.lowering.builder.undoing(NotCompiled), self.lowering.at(node.span):
                if isinstance(node, program.Declare):
                    self.declare(node)
                elif isinstance(node, program.Import):
                    self.imported(node)
                elif isinstance(node, program.Expect):
                    self.lowering.claim(node)
                elif isinstance(node, program.Output):
                    for name, expression in node.items:
                        self.output(name, expression)
                else:
                    self.lowering.statement(node)
        except NotCompiled as reason:
            self.lowering.names.held = held
            self.lowering.frame = frame
            self.note(reason)
            self.forget(node, Unknown(reason.reason, reason.span))

    def imported(self, node: program.Import) -> None:
        """Lowers an imported program, once. What isn't compiled of it raises where it is read."""
        names, key = self.lowering.names, id(node.program)
        if key not in self.imports:
            outer = self.lowering.frame, self.lowering.liveness, self.path
            self.lowering.frame = names.new_frame()
            self.lowering.liveness = of_program(node.program, node.program.names)
            self.path += f"{node.slot.name}."
            self.imports[key] = Members(self.lowering.frame, node.program.names)
            for statement in node.program.body:
                if not isinstance(statement, _LEFT_OUT):
                    self.statement(statement)
            self.lowering.frame, self.lowering.liveness, self.path = outer
        names.held[Name(self.lowering.frame, node.slot.index)] = self.imports[key]

    def forget(self, node: Any, unknown: Unknown) -> None:
        """Makes everything unknown that a statement which isn't compiled may have changed: the
        names that it assigns, the number of draws, and, where variables are updated, everything
        that may be a variable."""
        names, frame = self.lowering.names.held, self.lowering.frame
        names.update({Name(frame, slot.index): unknown for slot in assigned([node])})
        names.pop(self.lowering.draws, None)
        if self.updates:
            names.update({name: unknown for name, held in names.items() if any(flat(held))})

    def note(self, reason: NotCompiled) -> None:
        if not self.path and all(
            (r.reason, r.span) != (reason.reason, reason.span) for r in self.reasons
        ):
            self.reasons.append(reason.with_traceback(None))  # which would keep all frames

    def output(self, name: str, expression: Any) -> None:
        held = dict(self.lowering.names.held)
        try:
            with self.lowering.builder.undoing(NotCompiled), self.lowering.at(expression.span):
                found = self.lowering.value(self.lowering.expression(expression))
                found = self.lowering.in_items(self.lowering.values(found))
                if not is_value(kind_of(found)):
                    raise NotCompiled("this output is no number, and no list of these")
            self.results[name] = found
        except NotCompiled as reason:
            self.lowering.names.held = held
            self.note(reason)

    def declare(self, node: program.Declare) -> None:
        """A declared variable is a parameter of the type that its state has. A constant int that
        isn't given from outside is also known. A constant that depends on variables, or is a dict,
        a string or a list of such, is like any other value."""
        name, names = self.path + node.slot.name, self.lowering.names
        before, draws = dict(names.held), [self.lowering.draws]
        own, began = Name(self.lowering.frame, node.slot.index), names.of(draws)
        with self.lowering.builder.inside(Block()) as state:
            value = None if node.value is None else self.lowering.expression(node.value)
            if type(value) is tuple and not self.holds_things(value):
                value = self.lowering.whole(self.lowering.as_array(value))
            first = None if value is None else kind_of(value)
        drawn, names.held = names.of(draws), before
        names.put(draws, drawn)
        state.results = tuple(flat(value))
        initial, given = self.initial(state), self.inputs.get(name)
        is_constant = node.kind == "const" and name not in self.inputs
        depends = is_constant and not self.constants.issuperset(initial.takes)
        is_thing = is_constant and node.value is not None and not isinstance(first, _NUMERIC)
        if (depends or is_thing) and node.type is None:
            self.lowering.builder.extend(state.instructions)
            names.held[own] = value
            return
        self.lowering.count_draws(began, state, ())
        kind = declared_kind(node.type, first, given, self.lowering.builder.real)
        if not isinstance(kind, _NUMERIC):
            raise NotCompiled(f"`{name}` is no number and no array of known shape")
        if depends:
            raise NotCompiled("a typed constant that depends on variables is not compiled")
        if [v.type for v in state.results] == [*flat(kind)]:
            self.states[name] = initial
        held, first_place = fresh(kind), len(self.block.parameters)
        self.block.parameters += tuple(flat(held))
        self.parameters[name] = kind
        if node.kind == "const":
            self.constants.update(range(first_place, len(self.block.parameters)))
        if is_constant and name in self.states and isinstance(value, Value):
            known = self.lowering.builder.known.get(value)
            held = self.lowering.builder.constant(known) if type(known) is int else held
        if self.has_variables and node.kind != "const":
            held = self.lowering.variable(held, node.kind == "var")
        names.held[own] = held
        if node.kind != "const":
            self.variables.append(held)

    def holds_things(self, held: tuple[Any, ...]) -> bool:
        """Whether a list holds anything but values of numbers, so that its declaration leaves it a
        list: a dict, a string, a variable."""
        return any(
            self.holds_things(item)
            if type(item) is tuple
            else item in self.variables or not isinstance(item, Value | Mixed | Array | Stored)
            for item in held
        )

    def initial(self, state: Block) -> Initial:
        """The initial value that a block computes, with the code of the program before it that it
        needs."""
        wanted = used([state])
        needed = needed_for(wanted, self.block.instructions) if wanted else []
        block = Block((), [*needed, *state.instructions], state.results)
        wanted = used([block])
        places = [k for k, value in enumerate(self.block.parameters) if value in wanted]
        block.parameters = tuple([self.block.parameters[k] for k in places])
        return Initial(Region("state", block), places)


def _asks_of_variables(node: Any) -> bool:
    """Whether a node asks for derivatives of values, or says what is recorded."""
    if isinstance(node, program.Apply):
        return node.op.of_function is not None
    return isinstance(node, program.Tape | program.Record | program.Attach)


def declared_kind(
    declared: program.TypeSpec | None, first: Kind | None, given: Any, real: Scalar
) -> Kind | None:
    """The kind of a variable that is declared with a type or a value, or is given a value from
    outside. None where it isn't known."""
    kind = first if first is not None else _scalar_given(given, real)
    if isinstance(first, Array | Stored):
        kind = element_of(first.type)
    elif isinstance(first, Mixed):
        kind = first.real
    shape = getattr(first, "shape", ()) if given is None else _shape_given(given)
    if declared is not None:
        kind = {**OF_DTYPE, "float": real, "int": I64}.get(declared.dtype)
        if given is None and first is None:
            shape = declared.shape or ()
    if not isinstance(kind, Scalar) or not has_floats(real, kind) or not isinstance(shape, tuple):
        return None
    if not all(type(size) is int and size > 0 for size in shape):
        return None
    return array_kind(ArrayType(kind, shape), variable=True) if shape else kind


def _shape_given(value: Any) -> tuple[int, ...]:
    if isinstance(value, list):
        return (len(value), *(_shape_given(value[0]) if value else ()))
    return getattr(value, "shape", ())


def _scalar_given(value: Any, real: Scalar) -> Scalar | None:
    """The type of numbers from outside, if the program doesn't say it: ints become floats of the
    run."""
    while isinstance(value, list) and value:
        value = value[0]
    code = getattr(getattr(value, "dtype", None), "kind", None)
    if type(value) in (float, int, bool):
        code = "b" if type(value) is bool else "f"
    return {"f": real, "i": real, "b": BOOL}.get(code or "")
