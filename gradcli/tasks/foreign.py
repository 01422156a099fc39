"""Values of Python as programs take them: numbers, strings, lists and NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.backends.backend import CPU, UNMASK, masked, shape_of

_PLAIN: tuple[Any, ...] = (bool, int, float, complex, str)
_EXACTLY = {*_PLAIN, type(None), dict}
_OURS = ("numpy", "cupy")  # the packages of arrays that the engine computes with


def plain_inputs(values: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by name, as a program takes them. Raises GradcliError (E005) for what is no value, and
    TypeError for what is no name."""
    for name in values:
        if not isinstance(name, str):
            raise TypeError(f"the name of an input is a string, not {name!r}")
    return {name: plain(value, name) for name, value in values.items()}


def plain(value: Any, name: str = "") -> Any:
    """A value as a program takes it: arrays of other packages (JAX, PyTorch, pandas) as NumPy's,
    what a `gradcli.Tape` recorded as the number or array that it is, and a tuple as a list."""
    kind = type(value)
    if kind in _EXACTLY:
        return value
    if kind.__module__.split(".")[0] in _OURS:
        if masked(value):
            message = f"the value given for `{name}` is a masked array: {masked(value)}"
            raise GradcliError(Diagnostic("E005", message, help=UNMASK))
        return value
    if isinstance(value, list | tuple):
        return list(value) if _is_plain(value) else [plain(item, name) for item in value]
    if kind.__module__.startswith("gradcli.eager"):
        return value.value
    for base in _PLAIN:
        if isinstance(value, base):
            return base(value)
    if hasattr(value, "detach"):  # a tensor of PyTorch, which may be on a tape or a device
        value = value.detach().cpu()
    if not hasattr(value, "__array__"):
        raise GradcliError(
            Diagnostic(
                "E005",
                f"the value given for `{name}` is a Python `{kind.__name__}`",
                help="give a number, a string, a list, or an array",
            )
        )
    return value.__array__()


def apart(outputs: dict[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs in which no array has its memory in common with an input: where inputs come out
    again, writing to one mustn't change the other."""
    arrays = [value for value in inputs.values() if shape_of(value)]
    return _apart(outputs, arrays) if arrays else outputs


def _apart(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, dict):
        return {name: _apart(item, arrays) for name, item in value.items()}
    if isinstance(value, list):
        return [_apart(item, arrays) for item in value]
    shares = isinstance(value, CPU.xp.ndarray) and any(
        isinstance(array, CPU.xp.ndarray) and CPU.xp.may_share_memory(value, array)
        for array in arrays
    )
    return value.copy() if shares else value


def _is_plain(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list is one of numbers, as its ends tell: most lists are long and have nothing
    else."""
    return bool(values) and type(values[0]) in _PLAIN and type(values[-1]) in _PLAIN
