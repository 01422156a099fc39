"""Functions and modules of the program as values: their code is compiled once, their cells and
defaults are taken each time. A module is a function whose calls run its body in a frame of their
own, and give an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...lang.program.liveness import Liveness
from ...lang.program.walks import own_cells
from ..analysis.declared import declarations
from ..compilation.compiler import Closure, Compiler
from ..compilation.paths import function_path, module_path
from ..compilation.sequence import compile_block, compile_body
from ..values.boxes import primal
from ..values.kinds import (
    FRAME_HEAD,
    RESULT,
    UNSET,
    Cell,
    Code,
    Function,
    Instance,
    read,
    slot_value,
)
from .own_functions import with_rule


def compile_function(c: Compiler, node: program.Function) -> Closure:
    """The closure that makes a function value: its code is compiled once, its cells and defaults
    are taken each time."""
    code = _compile_code(c, node)
    if node.rule is not None or node.opaque:
        c.rules = True
        code.body = with_rule(code, None if node.rule is None else _compile_code(c, node.rule))
    return compile_maker(c, node, code)


def compile_maker(c: Compiler, node: program.Function, code: Code) -> Closure:
    """The closure that makes the values of this code, each with the cells and defaults of its
    moment."""
    sources = [outer.index + FRAME_HEAD for outer, _ in node.captures]
    defaults = [None if p.default is None else c.expression(p.default) for p in node.parameters]

    def make(frame: list[Any]) -> Function:
        cells = [frame[k] for k in sources]
        if node.opaque:
            cells.append(Cell([None]))  # for its rule
        return Function(code, cells, [UNSET if d is None else d(frame) for d in defaults])

    return make


def _compile_code(c: Compiler, node: program.Function) -> Code:
    path = function_path(node) if c.places else c.path
    parameters = {p.slot.index for p in node.parameters}
    facts = {
        "declared": set(),
        "parameters": parameters,
        "liveness": Liveness(node.body),
    }
    before = c.operations
    with c.within(path=path, in_module=False, in_function=True, **facts):
        body = compile_body(c, node.body)
        code = code_of(node, body)
        code.operations = c.operations - before
    return code


def code_of(
    node: program.Function, body: Closure, members: dict[str, program.Slot] | None = None
) -> Code:
    """The code that all values of a function, or of a module with `members`, share; `body` is its
    compiled body."""
    code = Code()
    code.hot = {}
    code.name, code.node, code.body, code.members = node.name, node, body, members
    code.operations = 0
    code.parameters = [
        (p.slot.name, p.slot.index + FRAME_HEAD, p.slot.cell) for p in node.parameters
    ]
    code.captured = [own.index + FRAME_HEAD for _, own in node.captures]
    code.self_slot = node.self_slot.index + FRAME_HEAD if node.self_slot else 0
    code.template = [None] * FRAME_HEAD + [UNSET] * node.n_slots
    own = set(code.captured)
    inside = node.body if node.rule is None else (*node.body, node.rule)
    code.shared = [
        k + FRAME_HEAD for k in own_cells(inside, node.parameters) if k + FRAME_HEAD not in own
    ]
    return code


def compile_backward(c: Compiler, node: program.Backward) -> Callable[[list[Any]], None]:
    """The closure of `backward f(dy, …) { … }`, which gives the function value its rule."""
    function, rule = c.expression(node.function), compile_function(c, node.rule)

    def register(frame: list[Any]) -> None:
        function(frame).cells[-1][0] = rule(frame)

    return register


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
        # `var w: float[n_in]` means the parameter, and other named sizes agree in this instance
        for slot, span in sizes:
            size = primal(read(slot_value(frame, slot)))
            if type(size) is int:
                run.sizes[slot.name] = size, span
        try:
            body(frame)
        finally:
            run.sizes = outside
        frame[0] = None  # the functions of the body have frames of their own
        return Instance(name, frame, members, path)

    return compile_maker(c, function, code_of(function, build, members))
