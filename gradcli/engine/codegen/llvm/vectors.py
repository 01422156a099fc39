"""Functions of the C library that compute several numbers at once, declared for LLVM.

A call of such a function names its versions, in the way of the compilers' vector ABI
(`_ZGVdN4v_exp`). Where LLVM computes several iterations of a loop together, it calls the version
for as many. glibc has them in `libmvec`; elsewhere there are none.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from llvmlite import binding, ir

from ..scalars import LIBRARY
from .assembly import address_of, processor
from .frame import ADDRESS, DOUBLE, Pure

LIBMVEC = "libmvec.so.1"
VERSIONS = "vector-function-abi-variant"  # the attribute that names them
# For each kind of processor: its letter, the numbers in a register, and the feature that it needs.
_KINDS = (("n", 2, "+neon"), ("d", 4, "+avx2"), ("e", 8, "+avx512f"))
# The largest error of results, measured in `tests/engine/codegen/test_vector_functions.py`.
ULPS = 3.0


class Version(NamedTuple):
    """A function for several numbers at once: its name, their number, and the number of
    operands."""

    name: str
    numbers: int
    arity: int


@cache
def vector_versions(name: str, arity: int) -> tuple[Version, ...]:
    """The versions of a function of the C library that this processor can run."""
    if name not in LIBRARY or not _is_there():
        return ()
    features = processor().features.split(",")
    versions = [
        Version(f"_ZGV{letter}N{count}{'v' * arity}_{name}", count, arity)
        for letter, count, feature in _KINDS
        if feature in features
    ]
    return tuple([v for v in versions if binding.address_of_symbol(v.name)])


@cache
def _is_there() -> bool:
    try:
        binding.load_library_permanently(LIBMVEC)
    except RuntimeError:
        return False
    return True


def of_rows(module: Any, name: str, arity: int) -> Any:
    """The function of a module that stands for one of the C library and its versions; None if it
    has none. It has a name of its own, of which LLVM knows nothing."""
    versions, own = vector_versions(name, arity), f"scalar_{name}"
    if versions and own not in module.globals:
        binding.add_symbol(own, address_of(name))
        _Versions(module, own, versions)
    return module.globals[own] if versions else None


def of_elements(module: Any, name: str, arity: int) -> Any:
    """The same where single numbers are computed, too. All are computed by the widest version, so
    that the bits of a number don't depend on its place."""
    versions, own = vector_versions(name, arity)[-1:], f"single_{name}"
    if versions and own not in module.globals:
        function = _Versions(module, own, versions)
        function.linkage = "internal"
        function.attributes.add("noinline")
        make = ir.IRBuilder(function.append_basic_block())
        kind = ir.VectorType(DOUBLE, versions[0].numbers)
        same = []
        for value in function.args:
            vector = ir.Constant(kind, ir.Undefined)
            for k in range(versions[0].numbers):
                vector = make.insert_element(vector, value, ir.Constant(ir.IntType(32), k))
            same.append(vector)
        found = make.call(module.globals[versions[0].name], same)
        make.ret(make.extract_element(found, ir.Constant(ir.IntType(32), 0)))
    return module.globals[own] if versions else None


class _Versions(Pure):
    """A function without effects, with the attribute that names its versions."""

    def __init__(self, module: Any, name: str, versions: tuple[Version, ...]) -> None:
        arity = versions[0].arity
        super().__init__(module, ir.FunctionType(DOUBLE, [DOUBLE] * arity), name)
        for version in versions:
            kind = ir.VectorType(DOUBLE, version.numbers)
            if version.name not in module.globals:
                Pure(module, ir.FunctionType(kind, [kind] * arity), version.name)
        mapped = [f"_ZGV_LLVM_N{v.numbers}{'v' * arity}_{name}({v.name})" for v in versions]
        self.said = f'{Pure.said} "{VERSIONS}"="{",".join(mapped)}"'


def keep_versions(module: Any) -> None:
    """Makes LLVM keep the versions, which nothing calls yet."""
    kept = [each for name, each in module.globals.items() if name.startswith("_ZGV")]
    if kept:
        values = [each.bitcast(ADDRESS) for each in kept]
        kind = ir.ArrayType(ADDRESS, len(kept))
        used = ir.GlobalVariable(module, kind, "llvm.compiler.used")
        used.initializer = ir.Constant(kind, values)
        used.linkage, used.section = "appending", "llvm.metadata"
