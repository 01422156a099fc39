"""Items of dicts in IR, read and written. A key may be one of several strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ir.instructions import Value
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

    def item(self, held: Any, key: Any) -> Any:
        """The item of a dict under a key."""
        if isinstance(key, Word):
            return self.for_one(key.place, key.among, lambda word: self.item(held, word))
        if not isinstance(held, Record) or not isinstance(key, str):
            raise NotCompiled("there is no dict here, or no key")
        if key not in held.keys:
            raise Fails("this dict has no such key")
        return self.known(held.items[held.keys.index(key)])

    def for_one(
        self, place: Value, things: Sequence[Any], then: Callable[[Any], Any], first: int = 0
    ) -> Any:
        """What `then` gives for the thing at a place, which is `first` or behind that."""
        if first == len(things) - 1:
            return then(things[first])
        return self.either(
            self.builder.apply("eq", [place, self.builder.constant(first)]),
            lambda: then(things[first]),
            lambda: self.for_one(place, things, then, first + 1),
        )

    def with_item(self, held: Any, key: Key, value: Any) -> Record:
        """A dict with another item under a key, or with one more."""
        if not isinstance(held, Record):
            raise NotCompiled("there is no dict here")
        items = dict(zip(held.keys, held.items, strict=True))
        if not isinstance(key, Word):
            items[key] = value
        elif not items.keys() >= {*key.among}:
            raise NotCompiled("a dict that may get one of several keys is not compiled")
        else:
            for k, word in enumerate(key.among):
                is_here = self.builder.apply("eq", [key.place, self.builder.constant(k)])
                items[word] = self.one_of(is_here, value, items[word])
        return Record(tuple(items), tuple(items.values()))

    def sequence(self, held: Any) -> Any:
        """What a loop over something goes through: the keys of a dict, or the thing itself."""
        return held.keys if isinstance(held, Record) else held

    def one_of(self, condition: Any, a: Any, b: Any) -> Any:
        """One of two things, where there may be anything."""
        return self.either(condition, lambda: a, lambda: b)
