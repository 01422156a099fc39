"""What the rules of `lint` ask about a program: its nodes, which names there are, and what numbers
a value surely is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ..diagnostics import Source
from ..lang import syntax
from ..lang.constants import CONSTANTS
from ..lang.scopes import Scope, Scopes, children
from ..ops import BUILTINS

Kind = Literal["int", "float", "other"]

# Builtins whose result is float where their operands are real numbers.
_FLOATS = """
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p hypot sin cos tan asin acos atan atan2 sinh cosh
    tanh asinh acosh atanh erf erfc sigmoid softplus softmax expit mean var std norm linspace zeros
    ones eye normal uniform
"""
# Builtins whose result is what their first operand is.
_SAME = """
    abs sum prod cumsum cumprod reshape transpose ravel flip roll sort array max min relu square
    zeros_like ones_like tile repeat squeeze expand_dims dot outer matmul
"""
_KIND_OF_CALL = dict.fromkeys(_FLOATS.split(), "float") | dict.fromkeys(_SAME.split(), "same")
_MAX_DEPTH = 50  # of values that names stand for, in which a kind is looked for
_KINDS: dict[str, Kind] = {"int64": "int"}
# What may bring complex numbers into a program.
_BRINGERS = (syntax.Number, syntax.Declare, syntax.Import, syntax.Call)
_COMPLEX = frozenset(["fft", "ifft", "rfft", "complex128", "cast"])


class Place(NamedTuple):
    """A node, and the scope that its names are looked up in."""

    node: Any
    scope: Scope


class Facts:
    """A program, walked once."""

    def __init__(self, tree: syntax.Module, source: Source) -> None:
        self.tree, self.source = tree, source
        self.scopes = Scopes(tree)
        self._by_kind: dict[type, list[Place]] = {}
        for place in self._walk():
            self._by_kind.setdefault(type(place.node), []).append(place)
        # What an expression reads comes from outside, and may be anything.
        self.has_complex = tree.is_expression or any(
            self._is_complex(node) for node, _ in self.of(*_BRINGERS)
        )
        self._kinds: dict[tuple[int, str], Kind] = {}  # of names
        # The text of an output without a name is its name.
        self.naming = [
            item.span
            for node, _ in self.of(syntax.Output)
            if node.name is None
            for item in node.items
        ]
        self.failing = [node.span for node, _ in self.of(syntax.ExpectError)]
        self.reads = {
            (id(self.home(name, scope)), name)
            for scope in [self.scopes.top, *self.scopes.functions.values()]
            for name in {*scope.uses, *scope.calls}
        }

    def _walk(self) -> Iterator[Place]:
        pending = [Place(node, self.scopes.top) for node in reversed(self.tree.statements)]
        while pending:
            node, scope = pending.pop()
            yield Place(node, scope)
            inner = self.scopes.functions.get(id(node), scope)
            for child in reversed(list(children(node))):
                # A default is computed outside the function, as is whatever has no body.
                is_inside = not isinstance(child, syntax.Parameter)
                pending.append(Place(child, inner if is_inside else scope))

    def of(self, *kinds: type) -> list[Place]:
        """The nodes of these kinds, one kind after the other."""
        return [place for kind in kinds for place in self._by_kind.get(kind, ())]

    def blocks(self) -> Iterator[tuple[syntax.Statement, ...]]:
        """The statements of the program, and of each block in it."""
        yield self.tree.statements
        for node, _ in self.of(syntax.Block):
            yield node.statements

    def home(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose name `scope` sees; None where there is none."""
        home: Scope | None = scope
        while home is not None and home.local(name) is None:
            home = home.parent
        # A function's own name in its scope is the one outside.
        return home.parent if home is not None and name not in home.bindings else home

    def is_read(self, name: str, scope: Scope) -> bool:
        """Whether a name of a scope is read there, or in a function inside it."""
        return (id(scope), name) in self.reads

    def is_to_fail(self, start: int) -> bool:
        """Whether what stands there is in an `expect error`."""
        return any(span.start <= start < span.end for span in self.failing)

    def is_in_a_name(self, start: int) -> bool:
        """Whether what stands there is part of the text that an output is called by."""
        return any(span.start <= start < span.end for span in self.naming)

    # ---- calls -----------------------------------------------------------------------------------

    def called(self, node: Any, scope: Scope, name: str) -> syntax.Call | None:
        """The node, where it is a call of this builtin with one operand, and options behind it."""
        if not isinstance(node, syntax.Call) or not isinstance(node.callee, syntax.Name):
            return None
        arguments = node.arguments
        is_unary = bool(arguments) and not any(a.keyword for a in arguments[:1])
        is_builtin = node.callee.name == name and self.is_builtin(name, scope)
        rest = all(argument.keyword for argument in arguments[1:])
        return node if is_unary and is_builtin and rest else None

    def is_builtin(self, name: str, scope: Scope) -> bool:
        """Whether a name means a builtin, and nothing of the program."""
        return name in BUILTINS and scope.find(name) is None

    def _is_complex(self, node: Any) -> bool:
        """Whether a node may bring complex numbers into the program, or what isn't known."""
        if isinstance(node, syntax.Number):
            return node.type == "complex"
        if isinstance(node, syntax.Declare):
            typed = node.type is not None and not node.type.dtype.startswith("complex")
            return node.value is None and not typed
        if isinstance(node, syntax.Import):
            return not node.library
        is_call = isinstance(node, syntax.Call) and isinstance(
            node.callee, syntax.Name | syntax.Member
        )
        return is_call and node.callee.name in _COMPLEX

    # ---- what numbers a value is -----------------------------------------------------------------

    def kind(self, node: Any, scope: Scope, depth: int = 0) -> Kind:
        """`int` or `float` where a value surely consists of such numbers; `other` where it isn't
        known."""
        if depth > _MAX_DEPTH:
            return "other"

        def of(*nodes: Any) -> Kind:
            kinds = {self.kind(inner, scope, depth + 1) for inner in nodes}
            return "other" if "other" in kinds else "float" if "float" in kinds else "int"

        if isinstance(node, syntax.Number):
            return "other" if node.type == "complex" else node.type
        if isinstance(node, syntax.Unary):
            return "other" if node.sign == "not" else of(node.operand)
        if isinstance(node, syntax.Arithmetic):
            kind = of(*node.operands)
            return "float" if kind == "int" and "/" in node.signs else kind
        if isinstance(node, syntax.Power):
            kind = of(node.base, node.exponent)
            return kind if kind == "float" else "other"  # 2**-1 is 0.5
        if isinstance(node, syntax.ListDisplay):
            return of(*node.items) if node.items else "other"
        if isinstance(node, syntax.Index):
            return of(node.object)
        if isinstance(node, syntax.Conditional):
            then, otherwise = of(node.then), of(node.otherwise)
            return then if then == otherwise else "other"
        if isinstance(node, syntax.Name):
            return self._kind_of_name(node.name, scope, depth)
        return self._kind_of_call(node, scope, depth)

    def _kind_of_call(self, node: Any, scope: Scope, depth: int) -> Kind:
        if not isinstance(node, syntax.Call) or not isinstance(node.callee, syntax.Name):
            return "other"
        name = node.callee.name
        if not self.is_builtin(name, scope) or self.has_complex:
            return "other"
        operands = [argument.value for argument in node.arguments if not argument.keyword]
        kinds = [self.kind(operand, scope, depth + 1) for operand in operands]
        if "other" in kinds:
            return "other"
        kind = _KIND_OF_CALL.get(name)
        return "float" if kind == "float" else kinds[0] if kind == "same" and kinds else "other"

    def _kind_of_name(self, name: str, scope: Scope, depth: int) -> Kind:
        home = self.home(name, scope)
        if home is None:
            return "float" if name in CONSTANTS else "other"
        key = (id(home), name)
        if key not in self._kinds:
            self._kinds[key] = "other"  # while it is found out: what depends on itself isn't known
            events = home.bindings[name].events
            kinds = {self._kind_of_event(event, home, depth) for event in events}
            self._kinds[key] = kinds.pop() if len(kinds) == 1 else "other"
        return self._kinds[key]

    def _kind_of_event(self, event: Any, scope: Scope, depth: int) -> Kind:
        node = event.node
        if isinstance(node, syntax.Declare):
            if node.type is not None:
                dtype = node.type.dtype
                return (
                    "float" if dtype.startswith("float") else "int" if dtype == "int64" else "other"
                )
            return self.kind(node.value, scope, depth + 1) if node.value is not None else "other"
        if isinstance(node, syntax.Assign) and isinstance(node.target, syntax.Name):
            return self.kind(node.value, scope, depth + 1)
        if isinstance(node, syntax.Augment) and node.sign in ("+", "-", "*"):
            return self.kind(node.value, scope, depth + 1)
        return "other"
