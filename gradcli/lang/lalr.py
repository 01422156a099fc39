"""Drives the parse table over a stream of tokens, calling a builder at each reduction. It never
recurses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from .grammar import BUILD, BUILD_UNLESS_SINGLE, LIST, PASS, read_table
from .lexer import Token


class UnexpectedTokenError(Exception):
    """A token that doesn't fit; `expected` are the kinds that would."""

    def __init__(self, token: Token, expected: frozenset[str]) -> None:
        super().__init__(token)
        self.token, self.expected = token, expected


@cache
def table() -> dict[str, Any]:
    """The parse table, read once."""
    return read_table()


def drive(tokens: Iterable[Token], builder: Any) -> Any:
    """Parses `tokens`, whose last has the kind `$END`, and returns what `builder` made of the
    whole.

    A rule's method gets its parts (trees, lists' elements and kept tokens), and the offsets where
    it starts and ends.
    """
    actions, gotos = table()["actions"], table()["gotos"]
    rules = [
        (*rule, getattr(builder, rule[3]) if rule[2] >= BUILD else None)
        for rule in table()["rules"]
    ]
    states = [table()["start"]]
    values: list[Any] = []
    starts: list[int] = []
    end = 0
    for token in tokens:
        kind = token[0]
        action = actions[states[-1]].get(kind)
        while action is not None and action < 0:
            name, count, shape, _, parts, build = rules[~action]
            if shape == PASS and count == 1:
                del states[-1]
            elif count == 0:
                values.append(build([], token[2], token[2]))
                starts.append(token[2])
            else:
                popped = values[-count:]
                start = starts[-count]
                del states[-count:], values[-count:], starts[-count:]
                starts.append(start)
                values.append(_reduce(shape, parts, popped, build, start, end))
            states.append(gotos[states[-1]][name])
            action = actions[states[-1]].get(kind)
        if action is None:
            if kind == "$END" and states[-1] == table()["end"]:
                break
            raise UnexpectedTokenError(token, frozenset(actions[states[-1]]))
        states.append(action)
        values.append(token)
        starts.append(token[2])
        end = token[3]
    return values[0]


def _reduce(
    shape: int, parts: list[int], popped: list[Any], build: Any, start: int, end: int
) -> Any:
    if shape == LIST and parts[0] < 0:
        # The list so far is nobody else's: it grows in place, so long lists take linear time.
        children = popped[~parts[0]]
        parts = parts[1:]
    else:
        children = []
    for k in parts:
        if k >= 0:
            children.append(popped[k])
        else:
            children.extend(popped[~k])
    if shape == LIST:
        return children
    if shape == PASS or (shape == BUILD_UNLESS_SINGLE and len(children) == 1):
        return children[0]
    return build(children, start, end)
