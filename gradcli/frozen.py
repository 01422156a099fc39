"""Frozen records: what a frozen, slotted dataclass is, made in a tenth of the time.

The two trees have eighty classes of them, and start-up is a feature: `dataclasses` writes and compiles six methods a
class, here all are shared but `__init__`, which is written when the class is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, dataclass_transform, overload

_Class = TypeVar("_Class", bound=type)
_MISSING: Any = object()


class _Field:
    """What is known of a field; `type` is its annotation as written."""

    __slots__ = ("compare", "default", "kw_only", "repr", "type")

    def __init__(self, default: Any, compare: bool, repr: bool) -> None:
        self.default, self.compare, self.repr = default, compare, repr
        self.kw_only, self.type = False, ""


def field(*, default: Any = _MISSING, compare: bool = True, repr: bool = True) -> Any:
    """A field that has a default, or that `==` and `hash` or the text leave out; as `dataclasses.field`."""
    return _Field(default, compare, repr)


class Frozen:
    """The methods that all frozen records share. `FIELDS` are the names of the fields, inherited ones first."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    SPECS: ClassVar[dict[str, _Field]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to `{name}`: a {type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete `{name}`: a {type(self).__name__} is frozen")

    def _compared(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name, spec in self.SPECS.items() if spec.compare])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name, spec in self.SPECS.items() if spec.repr]
        return f"{type(self).__name__}({', '.join(shown)})"


@overload
def frozen(cls: _Class) -> _Class: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[_Class], _Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Makes a subclass of `Frozen` with annotated names a record. `kw_only`: its own fields are given by keyword."""
    return _make(cls, kw_only) if cls is not None else lambda cls: _make(cls, kw_only)


def _make(cls: type[Frozen], kw_only: bool) -> type[Frozen]:
    specs: dict[str, _Field] = dict(cls.SPECS)
    namespace = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    own = dict(namespace.get("__annotations__", ()))
    for name, annotation in own.items():
        default = namespace.pop(name, _MISSING)
        spec = default if isinstance(default, _Field) else _Field(default, True, True)
        spec.kw_only, spec.type = kw_only, str(annotation)
        specs[name] = spec
    namespace.update(__slots__=tuple(own), SPECS=specs, FIELDS=tuple(specs), __init__=_first_init)
    namespace["__match_args__"] = tuple(name for name, spec in specs.items() if not spec.kw_only)
    return type(cls.__name__, cls.__bases__, namespace)


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Stands for `__init__` until the first instance is made."""
    cls: Any = type(self)
    cls.__init__ = _write_init(cls)
    self.__init__(*args, **kwargs)


def _write_init(cls: Any) -> Callable[..., None]:
    positional = [(n, s) for n, s in cls.SPECS.items() if not s.kw_only]
    keyword = [(n, s) for n, s in cls.SPECS.items() if s.kw_only]
    parameters = ["self", *map(_parameter, positional), *(["*"] if keyword else []), *map(_parameter, keyword)]
    # The slots' own setters go past `__setattr__`, which refuses.
    names: dict[str, Any] = {f"set_{n}": getattr(cls, n).__set__ for n in cls.SPECS}
    names.update({f"default_{n}": s.default for n, s in cls.SPECS.items()})
    body = "".join(f"    set_{n}(self, {n})\n" for n in cls.SPECS) or "    pass\n"
    exec(compile(f"def __init__({', '.join(parameters)}):\n{body}", f"<{cls.__name__}>", "exec"), names)
    init: Callable[..., None] = names["__init__"]
    return init


def _parameter(item: tuple[str, _Field]) -> str:
    name, spec = item
    return name if spec.default is _MISSING else f"{name}=default_{name}"
