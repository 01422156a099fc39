"""What the nodes of both trees are: classes with slots for their fields, which share their methods.

Dataclasses would do, but a hundred of them take a tenth of the start-up: each writes and compiles
its own `__init__`. Type checkers take nodes for frozen dataclasses; at run time they aren't frozen.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, dataclass_transform

_REQUIRED: Any = object()


class _Field(NamedTuple):
    default: Any = _REQUIRED
    compare: bool = True
    repr: bool = True
    kw_only: bool = False


def field(
    *, default: Any = _REQUIRED, compare: bool = True, repr: bool = True, kw_only: bool = False
) -> Any:
    """A field with a default, or one that `==` and `hash`, the text of the node or positional
    arguments leave out; as `dataclasses.field`."""
    return _Field(default, compare, repr, kw_only)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Nodes(type):
    """The class of node classes: what is annotated in one are its fields, after those that it
    inherits."""

    SPECS: dict[str, _Field]

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Nodes:
        annotated = namespace.get("__annotations__", {}).items()
        own = [name for name, kind in annotated if not kind.startswith("ClassVar")]
        specs = dict(getattr(bases[0], "SPECS", {})) if bases else {}
        for field_name in own:
            given = namespace.pop(field_name, _REQUIRED)
            specs[field_name] = given if type(given) is _Field else _Field(given)
        names = sorted(specs, key=lambda name: specs[name].kw_only)
        return super().__new__(
            meta,
            name,
            bases,
            {
                **namespace,
                "__slots__": tuple(own),
                "SPECS": specs,
                "NAMES": tuple(names),
                "FIELDS": tuple([n for n in specs if n not in ("span", "depth")]),
            },
        )


class Tree(metaclass=Nodes):
    """What all nodes have in common. `FIELDS` are the names of a node's fields, but for where it
    stands; `NAMES` are all of them, those last that are given by keyword."""

    NAMES: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[str, ...]]
    SPECS: ClassVar[dict[str, _Field]]

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.NAMES
        for name, value in zip(names, values):  # noqa: B905 - the rest is named, or has a default
            setattr(self, name, value)
        for name in names[len(values) :]:
            value = named.pop(name) if name in named else self.SPECS[name].default
            if value is _REQUIRED:
                raise TypeError(f"{type(self).__name__} needs `{name}`")
            setattr(self, name, value)
        if named or len(values) > len(names):
            raise TypeError(f"{type(self).__name__} has no field for {[*named] or values[-1]}")

    def _compared(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name, spec in self.SPECS.items() if spec.compare])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}" for name, spec in self.SPECS.items() if spec.repr
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
