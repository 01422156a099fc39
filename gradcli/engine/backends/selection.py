"""The backends and devices that a device's name denotes."""

from __future__ import annotations

from ...diagnostics import Diagnostic, GradcliError
from .backend import CPU, Backend
from .devices import is_gpu


def backend_for(device: str) -> Backend:
    """Returns the backend of `cpu`, `cuda` or `cuda:N` and makes it this thread's device.

    Raises GradcliError if there is no such device (E501, exit 5), and for an unknown name (E001).
    """
    if device == "cpu":
        return CPU
    from .cuda import backend_on

    if not is_gpu(device) or device == "cuda:all":
        raise GradcliError(
            Diagnostic(
                "E001", f"`{device}` is no single device", help="write `cpu`, `cuda` or `cuda:N`"
            )
        )
    backend = backend_on(device)
    backend.use()
    return backend


def devices_of(device: str) -> tuple[str, ...]:
    """Returns the devices that a name denotes: `cuda:all` is every GPU.

    Raises GradcliError if there is no such device (E501), and for an unknown name (E001).
    """
    if not is_gpu(device):
        return (device,)
    from .cuda import backend_on, count

    if device == "cuda:all":
        return tuple([f"cuda:{number}" for number in range(count(device))])
    backend_on(device)
    return (device,)
