"""Machine code of LLVM text, by llvmlite."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _target() -> tuple[Any, dict[str, Any]]:
    """LLVM's target for this processor, and the options of its code."""
    from llvmlite import binding

    for part in ("target", "asmprinter"):
        getattr(binding, f"initialize_native_{part}")()
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # where LLVM knows no way to ask; the name of the processor says enough
        features = ""
    return binding.Target.from_default_triple(), {
        "cpu": binding.get_host_cpu_name(),
        "features": features,
        "opt": 3,
    }


def _engine(text: str) -> Any:
    """What compiles a module and owns its code."""
    from llvmlite import binding

    target, options = _target()
    module = binding.parse_assembly(text)
    return binding.create_mcjit_compiler(module, target.create_target_machine(**options))


def assembled(text: str) -> tuple[Any, int]:
    """The engine that owns the code of a module, and the address of its function `kernel`."""
    engine = _engine(text)
    engine.finalize_object()
    return engine, engine.get_function_address("kernel")


@cache
def has_function(name: str) -> bool:
    """Whether compiled code can call a function of the C library."""
    from llvmlite import binding

    _engine("")  # the first engine makes LLVM look into the libraries of the process
    return bool(binding.address_of_symbol(name))
