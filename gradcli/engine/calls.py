"""Functions and calls: of the program's own functions, of builtins, and of builtins that need the engine itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from ..diagnostics import CallSite, GradcliError, Span, did_you_mean
from ..lang import program
from ..ops import BUILTINS, registry
from ..ops.op import BindingError, Op
from . import builtins, indexing, modules, tapes
from .apply import apply
from .choices import deciding
from .compiler import Closure, Compiler, own_cells
from .fusion import body_on_rows
from .inlining import known_functions
from .liveness import Liveness
from .own_functions import with_rule
from .requests import is_request
from .run import MAX_DEPTH, Run
from .tape import Site
from .values import (
    FRAME_HEAD,
    RESULT,
    UNSET,
    Cell,
    Code,
    Function,
    Instance,
    List,
    Namespace,
    Tape,
    Transform,
    describe,
    plain,
)

# ---- functions of the program ------------------------------------------------------------------------------------------


def compile_function(c: Compiler, node: program.Function) -> Closure:
    """The closure that makes a function value: its code is compiled once, its cells and defaults are taken each time."""
    code = _compile_code(c, node)
    if node.rule is not None or node.opaque:
        c.rules = True
        code.body = code.on_rows = with_rule(code, None if node.rule is None else _compile_code(c, node.rule))
    return compile_maker(c, node, code)


def compile_maker(c: Compiler, node: program.Function, code: Code) -> Closure:
    """The closure that makes the values of this code, each with the cells and defaults of its moment."""
    from .expressions import compile_expression

    sources = [outer.index + FRAME_HEAD for outer, _ in node.captures]
    defaults = [None if p.default is None else compile_expression(c, p.default) for p in node.parameters]

    def make(frame: list[Any]) -> Function:
        cells = [frame[k] for k in sources]
        if node.opaque:
            cells.append(Cell([None]))  # for its rule
        return Function(code, cells, [UNSET if d is None else d(frame) for d in defaults])

    return make


def _compile_code(c: Compiler, node: program.Function) -> Code:
    from .paths import function_path
    from .statements import compile_body

    path = function_path(node) if c.places else c.path
    parameters = {p.slot.index for p in node.parameters}
    functions = known_functions(c, node.body, node)
    facts = {"declared": set(), "parameters": parameters, "functions": functions, "liveness": Liveness(node.body)}
    with c.within(path=path, in_module=False, in_function=True, **facts):
        body = compile_body(c, node.body)
        code = code_of(node, body)
        code.on_rows = body_on_rows(c, node.body, body)
    return code


def code_of(node: program.Function, body: Closure, members: dict[str, program.Slot] | None = None) -> Code:
    """What all values of a function, or of a module with `members`, share; `body` is its body, compiled."""
    code = Code()
    code.name, code.node, code.body, code.on_rows, code.members = node.name, node, body, body, members
    code.parameters = [(p.slot.name, p.slot.index + FRAME_HEAD, p.slot.cell) for p in node.parameters]
    code.captured = [own.index + FRAME_HEAD for _, own in node.captures]
    code.self_slot = node.self_slot.index + FRAME_HEAD if node.self_slot else 0
    code.template = [None] * FRAME_HEAD + [UNSET] * node.n_slots
    own = set(code.captured)
    inside = node.body if node.rule is None else (*node.body, node.rule)
    code.shared = [k + FRAME_HEAD for k in own_cells(inside, node.parameters) if k + FRAME_HEAD not in own]
    return code


def call_function(
    run: Run, function: Function, arguments: list[Any], keywords: dict[str, Any], site: Site, path: str | None = None
) -> Any:
    """Calls a function of the program; `path` is where its result goes. Raises GradcliError with this call added to the
    calls that led to it."""
    code = function.code
    frame = code.template.copy()
    frame[0] = run
    frame[RESULT] = path
    _bind(run, function, frame, arguments, keywords, site.span)
    if code.self_slot:
        frame[code.self_slot] = function
    for k in code.shared:
        frame[k] = Cell([frame[k]])
    for k, cell in zip(code.captured, function.cells, strict=True):
        frame[k] = cell
    run.depth += 1
    if run.depth > MAX_DEPTH:
        run.depth -= 1
        run.fail("E406", f"`{code.name or 'fn'}` calls itself too deep", site.span, f"{MAX_DEPTH} calls are inside each other")
    trace = run.trace
    calls = trace.calls
    trace.enter((site, code.name, calls))
    try:
        return (code.body if run.group is None else code.on_rows)(frame)
    except GradcliError as error:
        call = CallSite(code.name or "fn", site.span)
        error.diagnostics[:] = [replace(d, calls=(*d.calls, call)) for d in error.diagnostics]
        raise
    finally:
        run.depth -= 1
        trace.enter(calls)


def _bind(run: Run, function: Function, frame: list[Any], arguments: list[Any], keywords: dict[str, Any], span: Span) -> None:
    parameters = function.code.parameters
    n = len(arguments)
    if n == len(parameters) and not keywords:
        for (_, k, _), value in zip(parameters, arguments, strict=True):
            frame[k] = value
        return
    name = function.name or "fn"
    if n > len(parameters):
        takes = "1 argument" if len(parameters) == 1 else f"{len(parameters)} arguments"
        run.fail("E308", f"`{name}` takes {takes}, and {n} are given", span)
    for keyword in keywords:
        position = next((i for i, p in enumerate(parameters) if p[0] == keyword), None)
        if position is None:
            help = did_you_mean(keyword, [p[0] for p in parameters])
            run.fail("E308", f"`{name}` has no parameter `{keyword}`", span, help=help)
        if position < n:
            run.fail("E308", f"`{name}` got `{keyword}` twice, by position and by keyword", span)
    missing = []
    for i, (parameter, k, _) in enumerate(parameters):
        value = arguments[i] if i < n else keywords.get(parameter, function.defaults[i])
        if value is UNSET:
            missing.append(f"`{parameter}`")
        frame[k] = value
    if missing:
        run.fail("E308", f"`{name}` needs {' and '.join(missing)}", span)


# ---- calls -----------------------------------------------------------------------------------------------------------


def compile_arguments(c: Compiler, arguments: tuple[program.Argument, ...]) -> tuple[list[Closure], list[tuple[str, Closure]]]:
    from .expressions import compile_expression

    positional = [compile_expression(c, a.value) for a in arguments if not a.keyword]
    return positional, [(a.keyword, compile_expression(c, a.value)) for a in arguments if a.keyword]


def compile_call(c: Compiler, node: program.Call) -> Callable[..., Any]:
    """The closure of a call; it may also be told where the result goes: `(frame, path)`."""
    from .expressions import compile_expression

    callee = compile_expression(c, node.callee)
    positional, keywords = compile_arguments(c, node.arguments)
    site = Site(CALL, node.span)

    def call(frame: list[Any], path: str | None = None) -> Any:
        function = callee(frame)
        arguments = [a(frame) for a in positional]
        given = {name: value(frame) for name, value in keywords} if keywords else {}
        if type(function) is Function:
            return call_function(frame[0], function, arguments, given, site, path)
        return call_value(frame[0], function, arguments, given, site, path)

    return call


def call_value(run: Run, callee: Any, arguments: list[Any], keywords: dict[str, Any], site: Site, path: str | None = None) -> Any:
    """Calls any value: a function of the program, a builtin, or an instance by its `call`; `path` is where the result goes.
    Raises GradcliError (E308) for anything else."""
    if type(callee) is Function:
        return call_function(run, callee, arguments, keywords, site, path)
    if type(callee) is Transform:
        call_mapped, call_transform = _callers()
        return (call_mapped if callee.kind == "vmap" else call_transform)(run, callee, arguments, keywords, site)
    if isinstance(callee, Op):
        return call_op(run, callee, arguments, keywords, site.span)
    if type(callee) is Instance:
        return call_value(run, modules.call_member(run, callee, site.span), arguments, keywords, site, path)
    run.fail("E308", f"{describe(callee)} is not a function", site.span, help="only functions can be called")


@cache
def _callers() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from .mapping import call_mapped  # which call functions
    from .transforms import call_transform

    return call_mapped, call_transform


def call_op(run: Run, op: Op, arguments: list[Any], keywords: dict[str, Any], span: Span) -> Any:
    """Calls a builtin that is only known when the program runs: bound to its signature here."""
    op = op.called_with(len(arguments), list(keywords))
    try:
        slots, options = _binding(op, len(arguments), tuple(keywords))
    except BindingError as error:
        run.fail("E308", error.message, span, help=error.help)

    def pick(slot: int | str | tuple[int, ...] | None, default: Any) -> Any:
        if isinstance(slot, tuple):  # `x.reshape(2, 3)`: several arguments that are one list
            return List([arguments[k] for k in slot])
        return default if slot is None else arguments[slot] if isinstance(slot, int) else keywords[slot]

    defaults = [p.default for p in op.signature.operands] if not op.signature.variadic else [None] * len(slots)
    operands = [pick(slot, default) for slot, default in zip(slots, defaults, strict=True)]
    given = {name: pick(slot, None) for name, slot in options.items()}
    return run_op(run, Site(op, span), operands, given)


@lru_cache(maxsize=256)
def _binding(op: Op, n: int, keywords: tuple[str, ...]) -> Any:
    return op.signature.bind(op.name, n, keywords)


def run_op(run: Run, site: Site, operands: list[Any], given: dict[str, Any]) -> Any:
    """A builtin on its bound arguments, whichever kind of entry it is."""
    op = site.op
    if op.engine:
        options = {p.name: p.default for p in op.signature.options}
        options.update(given)
        return builtins.implementation(op)(run, site, operands, options)
    options = {p.name: p.default for p in op.signature.options}
    options.update((name, plain(value)) for name, value in given.items())
    if op.signature.variadic and not op.signature.leading and len(operands) == 1:  # `einsum("ii", a)` means `a` itself
        operands = builtins.rows(run, site, operands[0])
    return apply(run, site, tuple(operands), options)


# ---- builtins in place -------------------------------------------------------------------------------------------------


def compile_structural(c: Compiler, node: program.Apply, site: Site, operands: list[Closure | None]) -> Closure:
    """A call of a builtin whose arguments the resolver has bound."""
    from .expressions import compile_expression

    op = node.op
    c.rules = c.rules or op.reverse_only
    given = [(name, deciding(c, compile_expression(c, value), value.span)) for name, value in node.options]
    parameters = op.signature.operands
    fixed = [_default(parameters[k].default) if operand is None else operand for k, operand in enumerate(operands)]
    if op.engine or op.signature.variadic:
        return lambda frame: run_op(
            frame[0], site, [operand(frame) for operand in fixed], {name: value(frame) for name, value in given}
        )
    base = {p.name: p.default for p in op.signature.options}

    def call(frame: list[Any]) -> Any:
        values = tuple([operand(frame) for operand in fixed])
        options = {**base, **{name: plain(value(frame)) for name, value in given}} if given else base
        return apply(frame[0], site, values, options)

    return call


def _default(value: Any) -> Closure:
    return lambda frame: value


def compile_engine_call(c: Compiler, node: program.Apply) -> Closure:
    """A builtin that needs the engine: its operands come as they are, variables unread."""
    from .expressions import compile_expression

    c.derives = c.derives or is_request(node.op)
    if node.op.transforms and all(_is_constant(value) for _, value in node.options):
        return _compile_transform(c, node)
    implementation = builtins.implementation(node.op)
    if c.in_function and builtins.asks_of_values(node.op):
        c.asks = True
    site = Site(node.op, node.span)
    defaults = [p.default for p in node.op.signature.operands]
    operands = [None if o is None else compile_expression(c, o) for o in node.operands]
    defaults += [None] * (len(operands) - len(defaults))
    given = [(name, compile_expression(c, value)) for name, value in node.options]
    base = {p.name: p.default for p in node.op.signature.options}

    def call(frame: list[Any]) -> Any:
        options = dict(base)
        for name, value in given:
            options[name] = value(frame)
        values = [default if o is None else o(frame) for o, default in zip(operands, defaults, strict=True)]
        return implementation(frame[0], site, values, options)

    return call


def _is_constant(node: program.Expression) -> bool:
    return isinstance(node, program.Constant) or (isinstance(node, program.ListDisplay) and all(map(_is_constant, node.items)))


def _compile_transform(c: Compiler, node: program.Apply) -> Closure:
    """`grad(f, wrt = [0, 1])`: its options are looked at once."""
    from .expressions import compile_expression

    assert node.operands[0] is not None
    function = compile_expression(c, node.operands[0])
    given = [(name, compile_expression(c, value)) for name, value in node.options]
    site, kind = Site(node.op, node.span), node.op.name
    options: dict[str, Any] | None = None
    last: Transform | None = None  # of a function that captures nothing, and so keeps nothing alive

    def call(frame: list[Any]) -> Transform:
        nonlocal options, last
        if options is None:
            base = {p.name: p.default for p in node.op.signature.options}
            options = builtins.transform_options(frame[0], site, base | {name: value(frame) for name, value in given})
        value = function(frame)
        if last is not None and last.function is value:
            return last
        if type(value) is Function:
            made = Transform(kind, value, **options)
            last = made if value.captures_nothing() else None
            return made
        return builtins.transform(frame[0], site, value, options)

    return call


# ---- method calls ------------------------------------------------------------------------------------------------------


def compile_method_call(c: Compiler, node: program.MethodCall) -> Callable[..., Any]:
    from .expressions import compile_expression

    if c.in_function and (node.name in tapes.REQUESTS or (node.op is not None and builtins.asks_of_values(node.op))):
        c.asks = True
    c.rules = c.rules or (node.op is not None and node.op.reverse_only)
    receiver, method = compile_expression(c, node.receiver), compile_method(c, node)
    positional, keywords = compile_arguments(c, node.arguments)
    site, name = Site(CALL, node.span), node.name

    def call(frame: list[Any], path: str | None = None) -> Any:
        run = frame[0]
        value = receiver(frame)
        arguments = [a(frame) for a in positional]
        given = {keyword: argument(frame) for keyword, argument in keywords}
        if type(value) is Tape:
            return tapes.call(run, value, name, arguments, given, site)
        callee, first = method(frame, value)
        return call_value(run, callee, [*first, *arguments], given, site, path)

    return call


def compile_method(c: Compiler, node: program.MethodCall) -> Callable[[list[Any], Any], tuple[Any, list[Any]]]:
    """What `value.name(…)` calls, and with what before the arguments: a member of a dict, an import or an instance with
    nothing, a function or builtin with the value. Raises GradcliError (E309) where there is none."""
    from .expressions import compile_expression

    function = None if node.function is None else compile_expression(c, node.function)
    name = node.name

    def method(frame: list[Any], value: Any) -> tuple[Any, list[Any]]:
        run = frame[0]
        if type(value) in (dict, Namespace, Instance):
            return indexing.member(run, value, name, node.span), []
        callee = function(frame) if function is not None else UNSET
        if callee is UNSET:
            callee = node.op or registry.find(name)
        if callee is None:
            run.fail("E309", f"there is no function `{name}`", node.span, help=did_you_mean(name, BUILTINS))
        return callee, [value]

    return method


CALL = Op("call", "*arguments", "A call of a function.", internal=True, engine=True)
