"""Small functions in the language of rules, run on the stand-in for a GPU (standin.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.execution import new_run
from gradcli.engine.operations.rules import Language, Value
from gradcli.engine.trace.run import Settings
from gradcli.engine.values.lanes import Lanes

from ...ops.sweeps import Session
from . import standin


def to_device(value: Any) -> Any:
    """A constant of a test as a program on the device would have it."""
    if isinstance(value, np.ndarray):
        return standin.asarray(value)
    if type(value) is Lanes:
        return Lanes(standin.asarray(value.array), value.group)
    if isinstance(value, list | tuple):
        return type(value)(to_device(v) for v in value)
    return {k: to_device(v) for k, v in value.items()} if isinstance(value, dict) else value


class DeviceLanguage(Language):
    """The language of rules, whose constants are on the device."""

    __slots__ = ()

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Value:
        return super().call(name, to_device(arguments), to_device(options or {}))


class DeviceSession(Session):
    def __init__(self, *values: Any) -> None:
        super().__init__()
        self.run = new_run(Settings(device="cuda"), {})
        self.m = DeviceLanguage(self.run, self.m.site)
        self.leaves = [self.run.trace.leaf(to_device(v)) for v in values]
        self.operands = [Value(leaf, self.m) for leaf in self.leaves]

    def constant(self, value: Any) -> Value:
        return super().constant(to_device(value))

    def dual(self, value: Any, tangent: Any, level: int = 1) -> Value:
        return super().dual(to_device(value), to_device(tangent), level)
