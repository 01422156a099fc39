"""Which backends a device's name stands for."""

from __future__ import annotations

from ...diagnostics import Diagnostic, GradcliError
from .backend import CPU, Backend
from .devices import is_gpu


def backend_for(device: str) -> Backend:
    """The backend of `cpu`, `cuda` or `cuda:N`, which is this thread's device from now on. Raises GradcliError where the
    device isn't there (E501, exit 5), and for what is no name of one (E001)."""
    if device == "cpu":
        return CPU
    from .cuda import backend_on

    if not is_gpu(device) or device == "cuda:all":
        raise GradcliError(Diagnostic("E001", f"`{device}` is no single device", help="write `cpu`, `cuda` or `cuda:N`"))
    backend = backend_on(device)
    backend.use()
    return backend


def several(device: str) -> tuple[str, ...]:
    """The devices that a name stands for: `cuda:all` is every GPU. Raises GradcliError where one isn't there (E501), and
    for what is no name of a device (E001)."""
    if not is_gpu(device):
        return (device,)
    from .cuda import backend_on, count

    if device == "cuda:all":
        return tuple([f"cuda:{number}" for number in range(count(device))])
    backend_on(device)
    return (device,)
