"""Machine code from LLVM text, by llvmlite. What only compiling needs is imported when it
compiles."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from ...backends.backend import CPU
from ...backends.host_memory import free_host_memory

# The passes of LLVM that run: few, which put variables into registers and remove empty blocks; or
# all those of `-O3`, one of which computes several rows at once.
FEW, O3 = ("sroa", "simplify_cfg"), ("O3",)
TUNING = {"loop_vectorization": True, "loop_unrolling": False}  # of the passes of `O3`
# Lines of a text of which LLVM allocates the registers in a second or three. The time grows with
# the square of the text: of a longer one with few passes, values stay on the stack, which takes
# LLVM a thirtieth of the time, and the machine three times as long.
MOST_OPTIMISED = 2**15
# The bytes that LLVM takes at most: a fixed number, and for each instruction of a region.
ROOM, ROOM_EACH = 2**25, 2**14


class Processor(NamedTuple):
    """This processor, as LLVM names it."""

    name: str
    features: str

    def machine(self, level: int = 3) -> Any:
        """A code generator for it, of a level of optimisation. An engine takes it over."""
        from llvmlite import binding

        target = binding.Target.from_default_triple()
        return target.create_target_machine(self.name, self.features, opt=level, jit=True)


@cache
def processor() -> Processor:
    """The processor that machine code is compiled for."""
    from llvmlite import binding

    for part in ("target", "asmprinter"):
        getattr(binding, f"initialize_native_{part}")()
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # where LLVM knows no way to ask; the name of the processor says enough
        features = ""
    return Processor(binding.get_host_cpu_name(), features)


def _level(text: str, passes: Sequence[str]) -> int:
    """The code generator's level of optimisation for a module."""
    return 0 if passes == FEW and text.count("\n") > MOST_OPTIMISED else 3


def _made_of(text: str, passes: Sequence[str]) -> bytes:
    """Everything that the object file of a module depends on."""
    import llvmlite
    from llvmlite import binding

    libraries = llvmlite.__version__, str(binding.llvm_version_info)
    tuning = str(TUNING), str(_level(text, passes))
    parts = (*libraries, binding.get_default_triple(), *processor(), *passes, *tuning, text)
    return "\0".join(parts).encode()


def _object(text: str, passes: Sequence[str]) -> bytes:
    """A module as an object file."""
    from llvmlite import binding

    machine, module = processor().machine(_level(text, passes)), binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    for name, holds in TUNING.items():
        setattr(options, name, holds)
    builder = binding.create_pass_builder(machine, options)
    if passes == O3:
        manager = builder.getModulePassManager()
    else:
        manager = binding.create_new_module_pass_manager()
        for name in passes:
            getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)
    return machine.emit_object(module)  # type: ignore[no-any-return]


def _engine() -> Any:
    """An engine, which holds machine code. It asks for a module, which is empty."""
    from llvmlite import binding

    machine = processor().machine()
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def assembled(*modules: tuple[str, Sequence[str]]) -> tuple[Any, int]:
    """The engine that owns the code of modules, and the address of the function `kernel` in one of
    them. With the text of each are its passes, `FEW` or `O3`."""
    from llvmlite import binding

    from ..cache import cached

    engine = _engine()
    for text, passes in modules:
        code = cached(_made_of(text, passes), partial(_object, text, passes))
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, engine.get_function_address("kernel")


def is_loaded() -> bool:
    """Whether LLVM's library is in the process."""
    return "llvmlite.binding" in sys.modules


def can_compile(instructions: int) -> bool:
    """Whether LLVM is there, and memory to compile so many instructions: LLVM ends the process if
    it finds none."""
    return free_host_memory() > ROOM + ROOM_EACH * instructions and _is_there()


@cache
def _is_there() -> bool:
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError):  # not installed, or its library doesn't load
        return False
    return True


@cache
def address_of(name: str) -> int | None:
    """The address of a function of the C library that compiled code can call; None if there is
    none."""
    from llvmlite import binding

    _engine()  # the first engine makes LLVM look into the libraries of the process
    return binding.address_of_symbol(name)  # type: ignore[no-any-return]


@cache
def offer_random(name: str) -> bool:
    """Lets compiled code call a function of NumPy's C interface for random numbers, if it is there
    (`numpy/random/distributions.h`)."""
    import ctypes

    from llvmlite import binding

    try:
        function = getattr(ctypes.CDLL(CPU.xp.random._generator.__file__), name)
    except (OSError, AttributeError):
        return False
    binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return True


@cache
def offer(name: str) -> None:
    """Lets compiled code call a function of Python's C interface."""
    import ctypes

    from llvmlite import binding

    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    binding.add_symbol(name, address)
