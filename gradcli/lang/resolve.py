"""Syntax tree to program: what every name means, and every error that can be known before running.

    program = resolve(parse(source), loader)

All errors are raised together, as one GradcliError. Names become slots (`scopes.py`), expressions
are resolved in `expressions.py`, statements here. What the program is for is worked out in
`results.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..diagnostics import GradcliError, Report, Source, Span, said
from ..ops import BUILTINS
from ..ops.elsewhere import is_no_input, suggestion
from ..platform.collector import collector_paused
from ..platform.recursion import recursion
from . import program, syntax
from .constants import CONSTANTS
from .flow import Journal
from .modules import ModuleResolver
from .results import Role, result_names
from .scopes import Event, Scopes
from .windows import is_attach_call, is_watch_call

# Of a path or a library's name, where it is imported, and whether it is the library.
Loader = Callable[[str, Span, bool], program.Program]

TYPES = ("float", "float64", "float32", "int64", "bool", "complex128")

# of Python's that the deepest tree takes which the parser lets through: 400 levels, 200 blocks
FRAMES = 10_000
MAX_ERRORS = 100  # after so many, the rest of the program isn't looked at


def resolve(
    tree: syntax.Module,
    source: Source,
    loader: Loader | None = None,
    given: frozenset[str] = frozenset(),
    role: Role = "program",
) -> program.Program:
    """The program of a syntax tree. `given` are the names set from outside, which matter to an
    expression file. An import drops `expect`, `print` and `output`; an expression in a session has
    no free names, and its value is a result despite any `output`."""
    with recursion(FRAMES), collector_paused(stays=True):
        resolver = Resolver(tree, source, loader, given, role)
        result = resolver.whole(tree)
        del resolver.report.diagnostics[MAX_ERRORS:]
        resolver.report.raise_errors()
    return result


class Resolver(ModuleResolver):
    """Resolves the statements of a whole program, in order."""

    def __init__(
        self,
        tree: syntax.Module,
        source: Source,
        loader: Loader | None,
        given: frozenset[str],
        role: Role,
    ) -> None:
        scopes = Scopes(tree)
        super().__init__(source, scopes)
        self._loader = loader
        self._role, self._imported = role, role == "import"
        self.outputs = Journal()
        self._in_expect = False
        self._is_expression = tree.is_expression and role == "program"
        self._inputs = self._declare_inputs(tree, given) if self._is_expression else []
        scopes.finish()
        self._statements: dict[type, Callable[[Any], program.Statement | None]] = {
            syntax.Declare: self._declare,
            syntax.Assign: self.assign,
            syntax.Augment: self.augment,
            syntax.Update: self.update,
            syntax.Evaluate: self._evaluate,
            syntax.If: self._if,
            syntax.While: self._while,
            syntax.For: self._for,
            syntax.Break: lambda node: self._jump(node, "break", program.Break),
            syntax.Continue: lambda node: self._jump(node, "continue", program.Continue),
            syntax.Return: self._return,
            syntax.Define: self.define,
            syntax.ModuleDefinition: self.module,
            syntax.Print: self._print,
            syntax.Output: self._output,
            syntax.Expect: self._expect,
            syntax.ExpectError: self._expect_error,
            syntax.Import: self._import,
            syntax.Tape: self.tape,
            syntax.Watch: self.watch,
            syntax.Pause: self.pause,
            syntax.Record: self.record,
            syntax.Backward: self.backward,
        }

    # ---- the whole ----

    def whole(self, tree: syntax.Module) -> program.Program:
        top = self.scopes.top
        head = [self.required(top.bindings[name].slot, span) for name, span in self._inputs]
        names, last = result_names(tree, self._role)
        body: list[program.Statement] = []
        results: list[tuple[str, program.Expression]] = []
        for statement in tree.statements:
            if len(self.report.diagnostics) >= MAX_ERRORS:
                break
            if last is not None and statement is last:
                slot = top.add_slot("result")
                value = self.expression(last.value)
                body.append(
                    program.Assign(program.NameTarget(slot, span=last.span), value, span=last.span)
                )
                results.append(("result", program.Read(slot, span=last.span)))
            else:
                body += self._resolved(statement)
        for name in names:
            value_of = self.read(name, tree.span._replace(start=tree.span.end))
            if value_of is not None:
                results.append((name, value_of))
        slots = {b.name: b.slot for b in sorted(top.bindings.values(), key=lambda b: b.slot.index)}
        return program.Program(
            self.source,
            (*head, *body),
            top.n_slots,
            slots,
            tuple(results),
            self._is_expression,
            self.has_modules,
            span=tree.span,
        )

    def _declare_inputs(self, tree: syntax.Module, given: frozenset[str]) -> list[tuple[str, Span]]:
        """The free names of an expression file become variables that come from outside."""
        free: dict[str, int] = {}
        for scope in (self.scopes.top, *self.scopes.functions.values()):
            for name, at in scope.uses.items():
                following = self.source.text[at + len(name) :][:1]
                known = name in BUILTINS or name in CONSTANTS or is_no_input(name, following)
                if scope.find(name) is None and (name in given or not known):
                    free[name] = min(at, free.get(name, at))
        inputs = [
            (name, Span(self.source, at, at + len(name)))
            for name, at in sorted(free.items(), key=lambda item: item[1])
        ]
        for name, span in inputs:
            self.scopes.top.bind(name, Event("var", tree, span.start, -1))
            self.frame.assigned.add(name)
        self.inputs = frozenset(free)
        return inputs

    def block(
        self, statements: tuple[syntax.Statement, ...]
    ) -> tuple[tuple[program.Statement, ...], bool]:
        """The statements of a block, and whether its end can be reached."""
        resolved: list[program.Statement] = []
        reaches_end = True
        for statement in statements:
            if len(self.report.diagnostics) >= MAX_ERRORS:
                break
            resolved += self._resolved(statement)
            reaches_end = reaches_end and self._reached
            self._reached = True
        return tuple(resolved), reaches_end

    def _evaluate(self, node: syntax.Evaluate) -> program.Statement:
        if is_watch_call(node.value) and self.frame.scope.find("watch") is None:
            return self.watch_on(node.value)  # type: ignore[arg-type]
        if is_attach_call(node.value) and self.frame.scope.find("attach_grad") is None:
            return self.attach(node.value)  # type: ignore[arg-type]
        return program.Evaluate(self.expression(node.value), span=node.span)

    def _resolved(self, statement: syntax.Statement) -> list[program.Statement]:
        result = self._statements[type(statement)](statement)
        return [] if result is None else [result]

    # ---- declarations ----

    def _declare(self, node: syntax.Declare) -> program.Statement:
        name = node.name.name
        value, domain = self.optional(node.value), None
        if node.domain is not None:
            low, high = self.expression(node.domain.low), self.expression(node.domain.high)
            domain = program.Domain(low, high, span=node.domain.span)
        if self.frame.kind == "function":
            outer = self.frame.parent
            in_module = outer is not None and outer.kind == "module"
            help = (
                "declare it in the body of the module, outside the function"
                if in_module
                else f"write `{name} = …`"
            )
            self.report.add(
                "E210",
                f"`{node.kind}` stands at the top level or in a module",
                node.span,
                help=help,
            )
        elif name in self.frame.declared:
            first = next(
                e
                for e in self.frame.scope.bindings[name].events
                if isinstance(e.node, syntax.Declare)
            )
            line = self.source.position(first.start)[0]
            self.report.add(
                "E211",
                f"`{name}` is declared twice",
                node.name.span,
                label=f"first on line {line}",
                help="a variable is updated with `:=`" if node.kind != "const" else "",
            )
        self.frame.declared.add(name)
        slot = self.bound(node.name)
        return program.Declare(
            node.kind, slot, value, self._type(node.type), domain, span=node.span
        )

    def _type(self, node: syntax.TypeSpec | None) -> program.TypeSpec | None:
        if node is None:
            return None
        if node.dtype not in TYPES:
            help = suggestion(node.dtype, TYPES) or f"the types are {', '.join(TYPES)}"
            self.report.add("E214", f"unknown type `{node.dtype}`", node.span, help=help)
        return program.TypeSpec(
            node.dtype, ... if node.shape == "..." else node.shape, span=node.span
        )

    def _import(self, node: syntax.Import) -> program.Statement | None:
        if self.frame.parent is not None:
            self.report.add("E210", "`import` stands at the top level", node.span)
        slot = self.bound(node.alias)
        if self._loader is None:
            self.report.add("E220", "imports are not possible here", node.span)
            return None
        try:
            imported = self._loader(node.path, node.span, node.library)
        except GradcliError as error:
            self.report.diagnostics += error.diagnostics
            return None
        self.imports[id(node)] = imported
        self.has_modules = self.has_modules or imported.has_modules
        return program.Import(slot, imported, span=node.span)

    # ---- control flow ----

    def _if(self, node: syntax.If) -> program.Statement:
        journals = (self.frame.assigned, self.frame.declared, self.outputs, self.registered)
        marks = [journal.mark() for journal in journals]
        surely: set[str] | None = None  # assigned in every branch whose end can be reached
        perhaps: list[list[str]] = [[] for _ in journals[1:]]
        branches: list[tuple[program.Expression, tuple[program.Statement, ...]]] = []
        otherwise: tuple[program.Statement, ...] = ()
        last = node.otherwise.statements if node.otherwise is not None else ()
        for branch in (*node.branches, None):
            test = None if branch is None else self.expression(branch.condition)
            statements = last if branch is None else branch.body.statements
            body, reaches_end = self.block(statements)
            added, *others = [
                journal.rewind(mark) for journal, mark in zip(journals, marks, strict=True)
            ]
            if reaches_end:
                surely = set(added) if surely is None else surely & set(added)
            for names, more in zip(perhaps, others, strict=True):
                names += more
            if test is None:
                otherwise = body
            else:
                branches.append((test, body))
        self._reached = surely is not None
        for journal, names in zip(journals, (sorted(surely or ()), *perhaps), strict=True):
            for name in names:
                journal.add(name)
        return program.If(tuple(branches), otherwise, span=node.span)

    def _while(self, node: syntax.While) -> program.Statement:
        with self.loop(node.span):
            condition = self.expression(node.condition)
            body, _ = self.block(node.body.statements)
        return program.While(condition, body, span=node.span)

    def _for(self, node: syntax.For) -> program.Statement:
        iterable = self.expression(node.iterable)
        with self.loop(node.span):
            target = self.loop_target(node.names)
            body, _ = self.block(node.body.statements)
        return program.For(target, iterable, body, span=node.span)

    def loop_target(self, names: tuple[syntax.Name, ...]) -> program.Target:
        """What the names of a `for` are assigned to."""
        first, *others = [program.NameTarget(self.bound(n), span=n.span) for n in names]
        span = names[0].span.to(names[-1].span)
        return program.ListTarget((first, *others), span=span) if others else first

    @contextmanager
    def loop(self, span: Span) -> Iterator[None]:
        """The body of a loop: it may not run at all, and what it assigns may be there when it
        begins again."""
        frame, mark, loop_end = self.frame, self.frame.assigned.mark(), self.frame.loop_end
        frame.loops += 1
        frame.loop_end = max(loop_end, span.end)
        yield
        frame.loops -= 1
        frame.loop_end = loop_end
        frame.assigned.rewind(mark)

    def _jump(self, node: Any, word: str, make: Any) -> program.Statement:
        if not self.frame.loops:
            self.report.add("E204", f"`{word}` outside a loop", node.span)
        self._reached = False
        result: program.Statement = make(span=node.span)
        return result

    def _return(self, node: syntax.Return) -> program.Statement:
        if self.frame.kind != "function":
            at = node.span._replace(end=node.span.start + len("return"))
            in_module = self.frame.kind == "module"
            help = (
                "an instance has all names of its module's body"
                if in_module
                else "`output` names what a program is for"
            )
            self.report.add("E205", "`return` outside a function", at, help=help)
        value = self.optional(node.value)
        self._reached = False
        return program.Return(value, span=node.span)

    # ---- what a program says ----

    def _print(self, node: syntax.Print) -> program.Statement | None:
        if self._imported and self.frame.parent is None:
            return None
        return program.Print(tuple([self.expression(item) for item in node.items]), span=node.span)

    def _output(self, node: syntax.Output) -> program.Statement | None:
        if self._imported:
            return None
        if self.frame.parent is not None or self.frame.loops or self._in_expect:
            outside = "a loop" if self.frame.loops else "`expect error`"
            where = outside if self.frame.parent is None else f"a {self.frame.kind}"
            at = node.span._replace(end=node.span.start + len("output"))
            self.report.add(
                "E212",
                f"`output` inside {where}",
                at,
                help="it stands at the top level, also inside `if`",
            )
        items: list[tuple[str, program.Expression]] = []
        for item in node.items:
            label = node.name or item
            name = (
                label.name if isinstance(label, syntax.Name) else " ".join(item.span.text.split())
            )
            if name in self.outputs:
                self.report.add(
                    "E213",
                    f"there are two outputs `{name}`",
                    label.span,
                    help="name one: `output other = …`",
                )
            self.outputs.add(name)
            items.append((name, self.expression(item)))
        return program.Output(tuple(items), span=node.span)

    def _expect(self, node: syntax.Expect) -> program.Statement | None:
        if self._imported and self.frame.parent is None:
            return None
        value, close_to = self.expression(node.value), self.optional(node.close_to)
        options: list[tuple[str, program.Expression]] = []
        for option in node.options:
            if option.keyword not in ("rtol", "atol"):
                self.report.add("E202", "`within` takes `rtol = …` and `atol = …`", option.span)
            options.append((option.keyword, self.expression(option.value)))
        message = self.optional(node.message)
        return program.Expect(value, close_to, tuple(options), message, span=node.span)

    def _expect_error(self, node: syntax.ExpectError) -> program.Statement | None:
        """What the resolver finds in the block is the failure that the block is expected to
        have."""
        if self._imported and self.frame.parent is None:
            return None
        report, self.report = self.report, Report()
        outside, self._in_expect = self._in_expect, True
        journals = (self.frame.assigned, self.frame.declared, self.registered)
        marks = [journal.mark() for journal in journals]
        body, _ = self.block(node.body.statements)
        for journal, mark in zip(journals, marks, strict=True):
            journal.rewind(mark)
        found = "\n".join(said(diagnostic) for diagnostic in self.report.diagnostics)
        self.report, self._in_expect = report, outside
        return program.ExpectError(node.message, () if found else body, found, span=node.span)
