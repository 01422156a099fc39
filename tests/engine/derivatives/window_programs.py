"""Programs over windows: as data, as text of the language, and as the model runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .window_model import ONE, Machine, Tape, Value, Variable

Expression = Any  # a name, a number, or a tuple of an operation and its operands
_TEXT = {"add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "neg": "(-{})"}
STATES = {"x": 0.75, "w": -1.25, "s": 0.5, "c": 1.5, "p": -0.625}
DECLARED = {"x": "var", "w": "var", "s": "frozen", "c": "const", "p": ""}


@dataclass
class Let:
    name: str
    value: Expression


@dataclass
class Update:
    name: str
    value: Expression


@dataclass
class Watch:
    names: list[str]
    tape: str  # "" for the innermost open one


@dataclass
class Block:
    """A tape's block, a pause (no name) or a loop (`times`)."""

    head: str
    body: list[Any]
    tape: str = ""
    automatic: bool = True
    persistent: bool = False
    times: int = 1


@dataclass
class Reset:
    tape: str


@dataclass
class Used:
    tape: str


@dataclass
class Ask:
    """A derivative that is asked for; its answer gets a name, or goes to the log only."""

    form: str
    tape: str  # "" for the main tape
    targets: list[str]
    sources: list[str]
    zero: bool
    seed: str = ""
    name: str = ""


# ---- as text -------------------------------------------------------------------------------------


def expression(e: Expression) -> str:
    if not isinstance(e, tuple):
        return str(e)
    op, *operands = e
    return _TEXT.get(op, op + "({})").format(*map(expression, operands))


def _several(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _request(ask: Ask) -> str:
    what = f"{_several(ask.targets)}, {_several(ask.sources)}"
    seed = (
        f"detach({ask.seed})" if ask.seed else ""
    )  # with a history it may make zeros of nones: a strict product reads it
    if ask.form == "gradient":
        what += f", seed = {_several([seed] * len(ask.targets))}" if seed else ""
        what += ', unconnected = "zero"' if ask.zero else ""
        return f"{ask.tape}.gradient({what})" if ask.tape else f"grad({what})"
    if ask.form == "jacobian":
        return f"{ask.tape}.jacobian({what})" if ask.tape else f"jacobian({what})"
    return f"{ask.form}({what}{', ' + seed if seed else ''})"


def lines(statement: Any, indent: str) -> list[str]:
    match statement:
        case Let(name, value):
            return [f"{indent}{name} = {expression(value)}"]
        case Update(name, value):
            return [f"{indent}{name} := {expression(value)}"]
        case Watch(names, tape):
            return [
                f"{indent}{tape}.watch({', '.join(names)})"
                if tape
                else f"{indent}watch {', '.join(names)}"
            ]
        case Reset(tape):
            return [f"{indent}{tape}.reset()"]
        case Used(tape):
            each = f"{indent}for v in {tape}.watched_variables() {{ used = append(used, v.name) }}"
            return [f"{indent}used = []", each, f"{indent}log = append(log, used)"]
        case Ask():
            if ask_name := statement.name:
                return [
                    f"{indent}{ask_name} = {_request(statement)}",
                    f"{indent}log = append(log, {ask_name})",
                ]
            return [f"{indent}log = append(log, {_request(statement)})"]
        case Block():
            inner = [line for s in statement.body for line in lines(s, indent + "    ")]
            return [f"{indent}{statement.head} {{", *inner, f"{indent}}}"]
    raise AssertionError(statement)


class Program:
    """A program, and the names in it whose gradients are asked for from outside. Numbers are
    floats, or vectors; `shared` makes a function capture all names, which then live elsewhere."""

    def __init__(
        self, body: list[Any], targets: list[str], vector: bool, shared: bool, names: list[str]
    ) -> None:
        self.body, self.targets, self.vector, self.shared, self.names = (
            body,
            targets,
            vector,
            shared,
            names,
        )

    @property
    def source(self) -> str:
        text = []
        for name, state in STATES.items():
            text.append(
                f"{DECLARED[name]} {name} = {[state, -0.5 * state] if self.vector else state}".strip()
            )
            text += [f"{name} = {name} * 1.0"] if name == "p" and self.vector else []
        if self.shared:
            text.append(f"fn captures() = [{', '.join(self.names)}]")
        return "\n".join(
            [*text, "log = []", *(line for s in self.body for line in lines(s, "")), "output log"]
        )

    def __repr__(self) -> str:
        return f"\n{self.source}\n# of {', '.join(self.targets)}"


# ---- as the model runs it ------------------------------------------------------------------------


# none or zero: a derivative that is constant has the one or the other, depending on how it was
# computed
DOUBT = object()


class Meaning:
    """What the model says of a program: its answers in order, and the gradients of its targets.

    Raises RefusedError and UnspecifiedError.
    """

    def __init__(self, program: Program) -> None:
        self.machine = Machine()
        self.tapes: dict[str, Tape] = {"": self.machine.main}
        self.replaced: set[str] = set()
        self.log: list[Any] = []
        self.missing = self.doubtful = False
        for name, state in STATES.items():
            number = np.array([state, -0.5 * state]) if program.vector else state
            kind = DECLARED[name]
            self.machine.names[name] = (
                Variable(name, kind, number) if kind in ("var", "frozen") else Value(number)
            )
        self.variables = [
            thing
            for thing in self.machine.names.values()
            if isinstance(thing, Variable) and thing.kind == "var"
        ]
        for statement in program.body:
            self.run(statement)
        self.gradients = {name: self._outside(self.machine.value(name)) for name in program.targets}

    def _outside(self, target: Value) -> dict[str, Any]:
        m = self.machine
        answers: dict[str, Any] = {}
        for (
            variable
        ) in self.variables:  # one that lost its name to another value has no gradient under it
            found = (
                None if variable.name in self.replaced else m.derivative(m.main, target, variable)
            )
            answers[variable.name] = None if found is None else target.number * 0.0 + found.number
            self.missing = self.missing or found is None
            if found is None and target.is_derived and variable.name not in self.replaced:
                answers[variable.name], self.doubtful = DOUBT, True
        return answers

    def evaluate(self, e: Expression) -> Value:
        if isinstance(e, str):
            return self.machine.value(e)
        if not isinstance(e, tuple):
            return Value(e)
        op, *operands = e
        result: Value = getattr(self.machine, op)(*map(self.evaluate, operands))
        return result

    def run(self, statement: Any) -> None:
        m = self.machine
        match statement:
            case Let(name, value):
                before = m.names.get(name)
                m.names[name] = m.names[value] if isinstance(value, str) else self.evaluate(value)
                if m.names[name] is not before:
                    self.replaced.add(name)
            case Update(name, value):
                m.update(name, self.evaluate(value))
            case Watch(names, tape):
                for name in names:
                    m.watch(self.tapes[tape] if tape else m.open[-1], name)
            case Reset(tape):
                self.tapes[tape].reset()
            case Used(tape):
                self.log.append({v.name for v in self.tapes[tape].used if v.kind != "watched"})
            case Ask():
                self.ask(statement)
            case Block(tape=""):
                for _ in range(statement.times):
                    with m.paused(m.open if statement.head == "pause" else []):
                        self.block(statement)
            case Block(tape=name):
                self.tapes[name] = Tape(statement.automatic, statement.persistent)
                with m.recorded_by(self.tapes[name]):
                    self.block(statement)

    def block(self, block: Block) -> None:
        for statement in block.body:
            self.run(statement)

    # ---- requests --------------------------------------------------------------------------------

    def ask(self, ask: Ask) -> None:
        m, tape = self.machine, self.tapes[ask.tape]
        targets = [m.target(name) for name in ask.targets]
        sources = [m.names[name] for name in ask.sources]
        seed = m.detach(m.value(ask.seed)) if ask.seed else None
        if ask.form not in ("gradient", "jacobian"):
            self.log.append(self.second(ask.form, targets[0], sources[0], seed))
        elif tape is m.main:
            self.answer(ask, targets, m.gradient(tape, targets, sources, seed))
        else:
            with m.asked(tape):
                found = m.gradient(tape, targets, sources, seed)
            self.answer(ask, targets, found)

    def answer(self, ask: Ask, targets: list[Value], found: list[Value | None]) -> None:
        self.missing = self.missing or None in found
        doubtful = any(target.is_derived for target in targets)
        self.doubtful = self.doubtful or (doubtful and None in found)
        numbers: list[Any] = []
        for name, value in zip(ask.sources, found, strict=True):
            like = self.machine.value(name).number * 0.0
            if value is not None or ask.zero:
                numbers.append(like + (0.0 if value is None else value.number))
                if ask.form == "jacobian":
                    numbers[-1] = np.diag(numbers[-1]) if np.ndim(like) else numbers[-1]
            else:
                numbers.append(DOUBT if doubtful else None)
        if ask.name:
            only = found[0]
            is_constant = (
                only is None or np.shape(only.number) != np.shape(numbers[0]) or only is ONE
            )
            self.machine.names[ask.name] = value = Value(numbers[0]) if is_constant else only
            value.is_doubtful = value.is_doubtful or (doubtful and is_constant)
        self.log.append(numbers if len(numbers) > 1 else numbers[0])

    def second(self, form: str, target: Value, source: Value | Variable, v: Value | None) -> Any:
        """`hessian`, `hvp` and `jvp` on the main tape, which see what they compute themselves in a
        pause, too."""
        m = self.machine
        before, m.main.recording = m.main.recording, True
        first = m.derivative(m.main, target, source)
        second = None if first is None else m.derivative(m.main, first, source)
        m.main.recording = before
        like = target.number * 0.0
        along = 1.0 if v is None else v.number
        if form == "jvp":
            return like + (0.0 if first is None else first.number * along)
        if first is None:
            self.missing = True
            self.doubtful = self.doubtful or target.is_derived
            return DOUBT if target.is_derived else None
        number = like + (0.0 if second is None else second.number * along)
        return np.diag(number) if form == "hessian" and np.ndim(number) else number
