"""Structs: classes whose annotations are their fields, with slots for these, and shared methods.

Dataclasses would do, but a hundred of them take a tenth of the start-up: each writes and compiles
its own `__init__`. Type checkers take structs for frozen dataclasses, and those with `frozen=False`
for others; at run time none is frozen.
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
    """A field with a default, or one that `==` and `hash`, the text of the struct or positional
    arguments leave out; as `dataclasses.field`."""
    return _Field(default, compare, repr, kw_only)


class Structs(type):
    """The class of structs: what is annotated in one are its fields, after those that it
    inherits."""

    SPECS: dict[str, _Field]

    def __new__(
        meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], frozen: bool = True
    ) -> Structs:
        annotated = namespace.get("__annotations__", {}).items()
        own = [name for name, kind in annotated if not kind.startswith("ClassVar")]
        specs = dict(getattr(bases[0], "SPECS", {})) if bases else {}
        for field_name in own:
            given = namespace.pop(field_name, _REQUIRED)
            specs[field_name] = given if type(given) is _Field else _Field(given)
        names = sorted(specs, key=lambda name: specs[name].kw_only)
        compared = [name for name in specs if specs[name].compare]
        facts = {"SPECS": specs, "NAMES": tuple(names), "COMPARED": tuple(compared)}
        return super().__new__(meta, name, bases, {**namespace, **facts, "__slots__": tuple(own)})


class _Fields(metaclass=Structs):
    """What all structs have in common. `NAMES` are the names of a struct's fields, those last that
    are given by keyword; `COMPARED` are those that `==` and `hash` read."""

    NAMES: ClassVar[tuple[str, ...]]
    COMPARED: ClassVar[tuple[str, ...]]
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

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}" for name, spec in self.SPECS.items() if spec.repr
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Struct(_Fields):
    """A struct that is equal to those of its class whose fields are."""

    def _compared(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.COMPARED])

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is type(self) and self._compared() == other._compared()
        )

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Entity(_Fields):
    """A struct that is equal to itself alone, whatever the fields of others hold."""
