"""Modules: a module's body run in a frame of its own, and the instance that this gives."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ..analysis.declared import declarations
from ..compilation.compiler import Closure, Compiler
from ..compilation.paths import module_path
from ..compilation.sequence import compile_block
from ..values.boxes import primal
from ..values.kinds import FRAME_HEAD, RESULT, Instance, read
from .functions import code_of, compile_maker


def compile_module(c: Compiler, node: program.ModuleLiteral) -> Closure:
    """The closure that makes a module: a function whose calls run the body and give an instance of
    it."""
    function = node.function
    declared = {d.slot.index for d in declarations(function.body)}
    parameters = {p.slot.index for p in function.parameters}
    with c.within(
        declared=declared,
        parameters=parameters,
        path=module_path,
        in_module=True,
        in_function=True,
    ):
        body = compile_block(c, function.body)
    name, members = function.name, {slot.name: slot for slot in node.members}
    sizes = [(p.slot, p.span) for p in function.parameters]

    def build(frame: list[Any]) -> Instance:
        run = frame[0]
        path = frame[RESULT] = frame[RESULT] or name
        outside, run.sizes = run.sizes, {}
        for (
            slot,
            span,
        ) in (
            sizes
        ):  # `var w: float[n_in]` means the parameter, and other named sizes agree in this instance
            size = frame[slot.index + FRAME_HEAD]
            size = primal(read(size[0] if slot.cell else size))
            if type(size) is int:
                run.sizes[slot.name] = size, span
        try:
            body(frame)
        finally:
            run.sizes = outside
        frame[0] = None  # the functions of the body have frames of their own
        return Instance(name, frame, members, path)

    return compile_maker(c, function, code_of(function, build, members))
