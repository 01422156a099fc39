"""Items of dicts in IR, read and written. A key may be one of several strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ....diagnostics import Span
from ..held.kinds import Record, Word
from ..held.names import Fails, NotCompiled
from .parts import Parts

Key = str | Word

# What a dict is asked for by a member, unless it has a key of this name.
VIEWS: dict[str, Callable[[Record], Iterable[Any]]] = {
    "keys": lambda held: held.keys,
    "values": lambda held: held.items,
    "items": lambda held: zip(held.keys, held.items, strict=True),
}


class Dicts(Parts):
    """The lowering of keys."""

    def item(self, held: Any, key: Any, span: Span) -> Any:
        """The item of a dict under a key."""
        if isinstance(key, Word):
            return self.under_word(held, key, 0, span)
        if not isinstance(held, Record) or not isinstance(key, str):
            raise NotCompiled("there is no dict here, or no key", span)
        if key not in held.keys:
            raise Fails("this dict has no such key", span)
        return self.known(held.items[held.keys.index(key)])

    def under_word(self, held: Any, key: Word, k: int, span: Span) -> Any:
        """The item of a dict under a key that is one of the words from the `k`th on."""
        if k == len(key.words) - 1:
            return self.item(held, key.words[k], span)
        return self.either(
            self.builder.apply("eq", [key.place, self.builder.constant(k)], span),
            lambda: self.item(held, key.words[k], span),
            lambda: self.under_word(held, key, k + 1, span),
            span,
        )

    def with_item(self, held: Any, key: Key, value: Any, span: Span) -> Record:
        """A dict with another item under a key, or with one more."""
        if not isinstance(held, Record):
            raise NotCompiled("there is no dict here", span)
        items = dict(zip(held.keys, held.items, strict=True))
        if not isinstance(key, Word):
            items[key] = value
        elif not items.keys() >= {*key.words}:
            raise NotCompiled("a dict that may get one of several keys is not compiled", span)
        else:
            for k, word in enumerate(key.words):
                is_here = self.builder.apply("eq", [key.place, self.builder.constant(k)], span)
                items[word] = self.one_of(is_here, value, items[word], span)
        return Record(tuple(items), tuple(items.values()))

    def sequence(self, held: Any) -> Any:
        """What a loop over something goes through: the keys of a dict, or the thing itself."""
        return held.keys if isinstance(held, Record) else held

    def one_of(self, condition: Any, a: Any, b: Any, span: Span) -> Any:
        """One of two things, where there may be anything."""
        return self.either(condition, lambda: a, lambda: b, span)
