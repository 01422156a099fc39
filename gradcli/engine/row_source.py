"""Writes functions that compute formulas on pieces of arrays, step by step in buffers that are used again.

Each step is one call of the array module that writes into a buffer; one that is no longer needed takes the next result, so
that few of them stay in the cache. The source has invented names only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import OPS
from ..ops.formula import Formula
from .backends import Backend
from .formulas import array_by_name


class RowSource:
    """The source of a function of results `o0, o1, …` to write to, buffers `b0, b1, …` and operands `x0, x1, …`.

    whole  whether each operand is an array of the results' shape; others broadcast against them
    """

    def __init__(self, backend: Backend, whole: tuple[bool, ...]) -> None:
        self._backend, self._whole = backend, whole
        self.buffers = 0
        self._lines: list[str] = []
        self._names: dict[str, Any] = {"inf": float("inf"), "nan": float("nan")}
        self._text: dict[int, str] = {}
        self._is_whole: dict[int, bool] = {}
        self._free: list[str] = []  # buffers whose values nobody needs any more

    def function(self, results: list[Formula]) -> Callable[..., None]:
        """The function of float64 arrays. The formulas have what they share in common (`rewriting.py`)."""
        nodes = {id(node): node for result in results for node in result}
        uses = dict.fromkeys(nodes, 0)
        for node in [*nodes.values(), Formula("results", None, tuple(results))]:
            for argument in node.arguments:
                uses[id(argument)] += 1
        outs: dict[int, str] = {}
        for k, result in enumerate(results):
            outs.setdefault(id(result), f"o{k}")
        for node in nodes.values():
            self._step(node, uses, outs)
        for k, result in enumerate(results):
            if self._text[id(result)] != f"o{k}":  # it is an operand or a number, or another result, too
                self._lines.append(f"copyto(o{k}, {self._text[id(result)]})")
        self._names["copyto"] = self._backend.xp.copyto
        n = len(results)
        parameters = [f"o{k}" for k in range(n)] + [f"b{k}" for k in range(self.buffers)]
        parameters += [f"x{k}" for k in range(len(self._whole))]
        body = "".join(f"    {line}\n" for line in self._lines)
        names = self._names
        exec(compile(f"def f({', '.join(parameters)}):\n{body}", "<formula on rows>", "exec"), names)
        function: Callable[..., None] = names.pop("f")  # else names and function would refer to each other
        return function

    def _step(self, node: Formula, uses: dict[int, int], outs: dict[int, str]) -> None:
        self._is_whole[id(node)] = any([self._is_whole[id(a)] for a in node.arguments])  # noqa: C419
        if node.kind == "number":
            self._text[id(node)] = f"({node.value!r})"
            return
        if node.kind == "operand":
            self._text[id(node)], self._is_whole[id(node)] = f"x{node.value}", self._whole[node.value]
            return
        arguments = [self._text[id(a)] for a in node.arguments]
        for argument in node.arguments:
            uses[id(argument)] -= 1
            if not uses[id(argument)] and self._text[id(argument)].startswith("b"):
                self._free.append(self._text[id(argument)])
        function = self._names[f"{node.kind}_"] = array_by_name(self._backend, node.kind)
        call = f"{node.kind}_({', '.join(arguments)}"
        is_float = node.kind != "where" and OPS[node.kind].integers != "bool"
        if not (is_float and self._is_whole[id(node)] and type(function) is self._backend.xp.ufunc):
            self._text[id(node)] = f"t{len(self._lines)}"
            self._lines.append(f"{self._text[id(node)]} = {call})")
            return
        self._text[id(node)] = out = outs.get(id(node)) or self._buffer()
        self._lines.append(f"{call}, {out})")

    def _buffer(self) -> str:
        if self._free:
            return self._free.pop()
        self.buffers += 1
        return f"b{self.buffers - 1}"
