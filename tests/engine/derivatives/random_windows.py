"""Random programs over windows."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from .window_programs import (
    STATES,
    Ask,
    Block,
    Expression,
    Let,
    Program,
    Reset,
    Update,
    Used,
    Watch,
)


class _Writer:
    """Draws statements. What it remembers of names and tapes only makes questions that have answers
    more likely."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.made_of: dict[str, list[str]] = {name: [name] for name in STATES}
        self.made_in: dict[str, list[str]] = {}
        self.tapes: dict[str, bool] = {}  # those that exist, and whether one may still be asked
        self.persistent: set[str] = set()
        self.open: list[str] = []
        self.replaced: set[str] = set()
        self.watched: list[str] = []
        self.count = 0

    def pick(self, items: Any) -> Any:
        return self.random.choice(list(items))

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) >= 100 - percent

    def name(self) -> str:
        """A name that has a value; a variable, what was watched or one of the latest results more
        often."""
        results = [name for name in list(self.made_of)[5:] if name[0] == "v"]
        return str(
            self.pick(["x", "w", *self.made_of, *["x", "w", *self.watched[-2:], *results[-3:]] * 3])
        )

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def let(self, name: str, of: list[str]) -> None:
        made = [n for o in of for n in self.made_of[o]]
        self.made_of.pop(name, None)  # the newest is the last
        self.made_of[name] = list(dict.fromkeys([*made, name]))
        self.made_in[name] = self.open.copy()

    def expression(self, depth: int) -> tuple[Expression, list[str]]:
        """An expression that reads some name, and the names that it reads."""
        if depth == 0 or self.chance(20):
            name = self.name()
            return name, [name]
        op = self.pick(["mul"] * 4 + ["add", "sub", "sin", "cos", "square"] * 2 + ["neg", "detach"])
        first, names = self.expression(depth - 1)
        if op not in ("mul", "add", "sub"):
            return (op, first), names
        second, others = (
            self.expression(depth - 1) if self.chance(80) else (self.pick([0.5, 2.0]), [])
        )
        return (op, *([first, second] if self.chance(50) else [second, first])), names + others

    def statement(self, depth: int) -> Any:
        kinds = ["let"] * 6 + ["ask"] * 6 + ["watch"] * 2 + ["update", "rebind"]
        kinds += (["tape"] * 5 + ["pause", "loop"] if depth < 3 else []) + (
            ["reset", "used"] if self.tapes else []
        )
        kind = self.pick(kinds)
        if kind == "ask":
            return self.ask()
        if kind == "watch":
            return self.watch()
        if kind == "update" and (names := [n for n in "xws" if n not in self.replaced]):
            return Update(self.pick(names), self.expression(1)[0])
        if kind == "reset":
            tape = self.pick(self.tapes)
            self.tapes[tape] = True
            return Reset(tape)
        if kind == "used":
            return Used(self.pick(self.tapes))
        if kind == "pause":
            return Block("pause", self.block(depth + 1))
        if kind == "loop":
            before = self.tapes.copy()
            if self.chance(90):  # what is asked in the body is asked twice
                self.tapes = {tape: tape in self.persistent for tape in self.tapes}
            loop = Block(f"for {self.fresh('i')} in range(2)", self.block(depth + 1), times=2)
            self.tapes |= before
            return loop
        if kind == "tape":
            return self.tape(depth)
        name = self.fresh("v")
        if kind == "rebind":
            name = self.pick([n for n in self.made_of if n != "c"])
            self.replaced.add(name)
        value, names = (self.name(),) * 2 if self.chance(5) else self.expression(2)
        self.let(name, [names] if isinstance(names, str) else names)
        return Let(name, value)

    def watch(self) -> Watch:
        tape = self.pick(self.open) if self.open and self.chance(40) else ""
        names = [
            self.pick(["s", "c", "p"]) if self.chance(60) else self.name()
            for _ in range(self.pick([1, 1, 2]))
        ]
        self.watched += names
        return Watch(list(dict.fromkeys(names)), tape)

    def tape(self, depth: int) -> Block:
        name = self.fresh("t")
        automatic, persistent = self.chance(70), self.chance(60)
        options = [] if automatic else ["watch_variables = false"]
        options += ["persistent = true"] if persistent else []
        head = f"tape {name}" + (f" ({', '.join(options)})" if options else "")
        self.tapes[name] = True
        self.persistent.update([name] if persistent else [])
        self.open.append(name)
        body = [self.watch()] if self.chance(50) else []
        body += self.block(depth + 1)
        self.open.pop()
        return Block(head, body, name, automatic, persistent)

    def block(self, depth: int) -> list[Any]:
        return [self.statement(depth) for _ in range(self.pick([1, 2, 3, 4, 5]))]

    def ask(self) -> Ask:
        computed = [name for name, made_of in self.made_of.items() if len(made_of) > 1][-6:]
        targets = [
            self.pick(computed) if computed and self.chance(90) else self.name()
            for _ in range(self.pick([1, 1, 1, 2]))
        ]
        likely = [tape for tape in self.made_in.get(targets[0], []) if self.tapes[tape]]
        tape = (
            self.pick(likely)
            if likely and self.chance(70)
            else self.pick(["", *(t for t, free in self.tapes.items() if free)])
        )
        form = self.pick(
            ["gradient"] * 8 + ["jacobian"] + (["hessian", "hvp", "jvp"] if not tape else [])
        )
        seed = (
            self.name()
            if form in ("hvp", "jvp") or (form == "gradient" and self.chance(15))
            else ""
        )
        sources = [self.source(targets) for _ in range(self.pick([1, 1, 2, 3]))]
        if self.chance(40):
            sources = self.made_of[targets[0]][-6:]
        if tape and tape not in self.persistent and self.chance(98):
            self.tapes[tape] = False
        if form != "gradient":
            return Ask(form, tape, targets[:1], sources[:1], False, seed)
        if self.chance(50):  # an answer that the program computes on with
            name = self.fresh("g")
            self.let(name, [*targets, sources[0]])
            return Ask(form, tape, targets, sources[:1], True, seed, name)
        return Ask(form, tape, targets, sources, self.chance(20), seed)

    def source(self, targets: list[str]) -> str:
        """Something that a target is made of, or anything."""
        made_of = self.made_of[targets[0]]
        likely = [n for n in made_of if n in self.watched or n not in ("s", "c", "p", targets[0])]
        return str(self.pick([*made_of, *likely * 3])) if self.chance(90) else self.name()


def program(random: Random) -> Program:
    writer = _Writer(random)
    body = [writer.statement(0) for _ in range(random.randint(2, 12))]
    targets = sorted({writer.name() for _ in range(2)})
    return Program(body, targets, writer.chance(50), writer.chance(50), list(writer.made_of))


def window_programs(shrinks: bool = False) -> st.SearchStrategy[Program]:
    """Programs that have little in common, drawn fast. With `shrinks` a failure is made small, at
    several times the cost."""
    return st.randoms(use_true_random=not shrinks).map(program)
