"""Source text of functions that compute formulas on chunks of arrays, step by step in reused
buffers.

Each step is one call of the array module that writes into a buffer. A buffer that is no longer
needed takes the next result, so that few buffers stay in the cache. What only one side of a `where`
needs is computed only if some element takes that side. All names in the source are generated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.formula import Formula
from ..backends.backend import WRITING, Backend
from ..formulas.formula_source import function_of
from ..formulas.functions import array_by_name
from ..formulas.rewriting import gives_bools


class _Place:
    """The condition under which a node is computed: always, or only if some element takes a side of
    a `where`.
    """

    def __init__(self, outer: _Place | None = None, choice: Formula | None = None) -> None:
        self.outer, self.choice = outer, choice
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.nodes: list[Formula] = []

    def with_(self, other: _Place) -> _Place:
        """Returns the innermost place that encloses both."""
        a, b = self, other
        while a is not b:
            deeper = a if a.depth >= b.depth else b
            assert deeper.outer is not None
            if deeper is a:
                a = deeper.outer
            else:
                b = deeper.outer
        return a


class RowSource:
    """The source of a function of results `o0, o1, …`, buffers `b0, b1, …` and operands `x0, x1,
    …`.

    whole  whether each operand is an array of the results' shape; others broadcast against them
    """

    def __init__(self, backend: Backend, whole: tuple[bool, ...]) -> None:
        self._backend, self._whole = backend, whole
        self.buffers = 0
        self._lines: list[str] = []
        self._indent = ""
        self._names: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}
        self._text: dict[int, str] = {}
        self._is_whole: dict[int, bool] = {}
        self._uses: dict[int, int] = {}
        self._results: dict[int, str] = {}
        self._sides: dict[int, tuple[_Place, _Place]] = {}  # of each choice
        self._free: list[str] = []  # buffers whose values nobody needs any more

    def function(self, results: list[Formula]) -> Callable[..., None]:
        """Returns the function of arrays of one float type; common subexpressions are shared
        (`rewriting.py`).
        """
        everything = Formula("results", None, tuple(results))
        for k, result in enumerate(results):
            self._results.setdefault(id(result), f"o{k}")
        self._write(self._placed(everything))
        for k, result in enumerate(results):
            # An operand, a number, the result of one side of a `where`, or another result.
            if self._text[id(result)] != f"o{k}":
                self._line(f"copyto(o{k}, {self._text[id(result)]})")
        names = self._names
        names["copyto"], names["agreed"] = self._backend.xp.copyto, self._agreed
        parameters = [f"o{k}" for k in range(len(results))] + [f"b{k}" for k in range(self.buffers)]
        parameters += [f"x{k}" for k in range(len(self._whole))]
        body = "".join(f"    {line}\n" for line in self._lines)
        return function_of(f"def f({', '.join(parameters)}):\n{body}", "<formula on rows>", names)

    def _agreed(self, condition: Any) -> bool | None:
        """Returns the value of a condition if it is the same for all elements; None if they
        differ.
        """
        xp = self._backend.xp
        n = xp.count_nonzero(condition)
        return True if n == xp.size(condition) else None if n else False

    def _placed(self, everything: Formula) -> _Place:
        """Assigns each node a place that encloses all its uses; returns the outermost place."""
        whole, places = _Place(), {id(everything): _Place()}
        places[id(everything)] = whole
        nodes = list(everything)
        for node in reversed(nodes):
            here = places[id(node)]
            asked = [here] * len(node.arguments)
            if node.kind == "where":
                self._sides[id(node)] = sides = _Place(here, node), _Place(here, node)
                asked = [here, *sides]
            for argument, place in zip(node.arguments, asked, strict=True):
                known = places.get(id(argument))
                places[id(argument)] = place if known is None else known.with_(place)
                self._uses[id(argument)] = self._uses.get(id(argument), 0) + 1
        for node in nodes[:-1]:
            places[id(node)].nodes.append(node)
        return whole

    def _write(self, place: _Place) -> None:
        for node in place.nodes:
            if node.kind == "number":
                self._text[id(node)], self._is_whole[id(node)] = f"({node.value!r})", False
            elif node.kind == "operand":
                self._text[id(node)], self._is_whole[id(node)] = (
                    f"x{node.value}",
                    self._whole[node.value],
                )
            elif node.kind == "where":
                self._choice(node)
            else:
                self._step(node)

    def _line(self, line: str) -> None:
        self._lines.append(self._indent + line)

    def _local(self, node: Formula, expression: str) -> None:
        self._text[id(node)] = f"t{len(self._lines)}"
        self._line(f"{self._text[id(node)]} = {expression}")

    def _step(self, node: Formula) -> None:
        self._is_whole[id(node)] = whole = any([self._is_whole[id(a)] for a in node.arguments])  # noqa: C419
        arguments = ", ".join([self._text[id(a)] for a in node.arguments])
        for argument in node.arguments:
            self._used(argument)
        function = self._names[f"{node.kind}_"] = array_by_name(self._backend, node.kind)
        result = self._results.get(id(node))
        writes = type(function) is self._backend.xp.ufunc or node.kind in WRITING
        if whole and writes and (result is not None or not gives_bools(node)):
            self._text[id(node)] = out = result or self._buffer()
            self._line(f"{node.kind}_({arguments}, out={out})")
        else:
            self._local(node, f"{node.kind}_({arguments})")

    def _choice(self, node: Formula) -> None:
        """Writes a `where`: if all elements take the same side, its result is used without
        a copy.
        """
        condition = node.arguments[0]
        answer = f"c{len(self._lines)}"
        self._line(f"{answer} = agreed({self._text[id(condition)]})")
        for side, otherwise in zip(self._sides[id(node)], (False, True), strict=True):
            if any(n.arguments for n in side.nodes):
                self._line(f"if {answer} is not {otherwise}:")
                self._indent += "    "
                self._write(side)
                self._indent = self._indent[:-4]
            else:
                self._write(side)
        self._is_whole[id(node)] = any([self._is_whole[id(a)] for a in node.arguments])  # noqa: C419
        c, a, b = (self._text[id(argument)] for argument in node.arguments)
        self._names["where_"] = self._backend.where
        self._local(
            node, f"{a} if {answer} else {b} if {answer} is False else where_({c}, {a}, {b})"
        )
        self._used(condition)

    def _used(self, node: Formula) -> None:
        """Notes a use of a node; the last one frees its buffer, or those of the sides that it may
        alias.
        """
        self._uses[id(node)] -= 1
        if self._uses[id(node)]:
            return
        if node.kind == "where":
            for side in node.arguments[1:]:
                self._used(side)
        elif self._text[id(node)].startswith("b"):
            self._free.append(self._text[id(node)])

    def _buffer(self) -> str:
        if self._free:
            return self._free.pop()
        self.buffers += 1
        return f"b{self.buffers - 1}"
