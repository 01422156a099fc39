"""`each` of the IR on the arrays of a device: the launches of its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Any

from ...backends.backend import CPU, Backend
from ...ir.instructions import Constant, Each, Value
from ...ir.types import DTYPES, F32, I64, Scalar, dtype_of
from ..array_calls import SAFE
from ..python.each import UFUNCS
from ..python.numbers import checked, float32
from ..step_back import StepBack
from .each import EachKernel, each_text

THREADS = 256  # of a block
_WAYS = {"add": "sum", "maximum": "max", "minimum": "min", "or": "any", "and": "all"}


class DeviceEach:
    """An `each` as a function of its first values and of the values that its body takes. It changes
    the arrays among the first values, and returns the numbers. It raises StepBack."""

    def __init__(self, made: Each, known: Mapping[Value, Constant], backend: Backend) -> None:
        """Raises NotNative."""
        self._made, self._backend = made, backend
        self._written = each_text(made, known)
        self.takes = [*made.initial, *self._written.takes]
        self._dtypes = [dtype_of(value.type) for value in self._written.takes]

    def __call__(self, *given: Any) -> list[Any]:
        n, written, xp = len(self._made.initial), self._written, self._backend.xp
        initial = given[:n]
        values = [
            CPU.xp.asarray(value, dtype)[()] if isinstance(own.type, Scalar) else value
            for value, own, dtype in zip(given[n:], written.takes, self._dtypes, strict=True)
        ]
        if len(written.kernels) > 1:  # a kernel may read what the one before it has changed
            changes = [own in self._made.initial for own in written.takes]
            values = [v.copy() if own else v for v, own in zip(values, changes, strict=True)]
        status = [xp.zeros(1, "uint8")] if written.steps_back else []
        found: list[tuple[list[int], Any]] = []
        for kernel in written.kernels:
            found += self._run(kernel, [*status, *values], initial)
        if status and status[0].item():
            raise StepBack
        totals = dict([p for ks, sums in found for p in zip(ks, sums.tolist(), strict=True)])
        made = self._made
        return [
            _combined(way, first, totals[k], value.type)
            for k, (way, first, value) in enumerate(
                zip(made.ways, initial, made.initial, strict=True)
            )
            if isinstance(value.type, Scalar)
        ]

    def _run(
        self, kernel: EachKernel, values: list[Any], initial: Sequence[Any]
    ) -> Iterator[tuple[list[int], Any]]:
        """Launches a kernel and its end. Yields the positions of results, among them all that are
        numbers, with the combined numbers of the points."""
        xp, share = self._backend.xp, kernel.share
        arrays = [initial[k] for k in kernel.changes]
        parts = [
            xp.empty((len(ks), *share.shape), DTYPES[kind]) for (_, kind), ks in kernel.sums.items()
        ]
        # Places must be in the arrays even where a point has stepped back and gave none.
        room = xp.zeros if self._written.steps_back else xp.empty
        stored = [room(len(kernel.stored) * share.places, "int64")] * bool(kernel.stored)
        self._launch(kernel.name, kernel.size, [*values, *arrays, *parts, *stored])
        sums = [
            self._combined(way, part, 1 + share.axis)
            for (way, _), part in zip(kernel.sums, parts, strict=True)
        ]
        if kernel.stored:
            arrays = [initial[k] for k in kernel.stored]
            self._launch(kernel.end, share.places, [*stored, *arrays, *sums])
        for ks, numbers in zip(kernel.sums.values(), sums, strict=True):
            if not {*ks} <= {*kernel.stored}:
                yield ks, numbers.reshape(-1)

    def _combined(self, way: str, parts: Any, axis: int) -> Any:
        """Parts, combined along an axis. Raises StepBack for a sum of ints that 64 bits may not
        hold."""
        xp = self._backend.xp
        if way == "add" and parts.dtype.kind == "i":
            estimate = xp.sum(parts.astype("float64"), axis=axis)
            if not (xp.abs(estimate) < SAFE).all():
                raise StepBack
        return getattr(xp, _WAYS[way])(parts, axis=axis)

    def _launch(self, name: str, size: int, arguments: list[Any]) -> None:
        kernel = self._backend.kernel(self._written.text, name)
        if kernel is None:
            raise StepBack
        kernel((-(-size // THREADS),), (THREADS,), tuple(arguments))


def _combined(way: str, first: Any, number: Any, kind: Scalar) -> Any:
    """The combination of the first number and another one, of a type, as Python has it. Raises
    StepBack."""
    if way == "add" and kind == I64:
        return checked(add, first, number)
    combine = getattr(CPU.xp, UFUNCS[way])
    return combine(first, float32(number)) if kind == F32 else combine(first, number).item()
