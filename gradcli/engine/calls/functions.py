"""Functions of the program as values: their code is compiled once, their cells and defaults are
taken each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...lang.program.liveness import Liveness
from ...lang.program.walks import own_cells
from ..compilation.compiler import Closure, Compiler
from ..compilation.paths import function_path
from ..compilation.sequence import compile_body
from ..values.kinds import FRAME_HEAD, UNSET, Cell, Code, Function
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
