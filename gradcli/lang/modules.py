"""Resolves `module` statements."""

from __future__ import annotations

from . import program, syntax
from .functions import FunctionResolver


class ModuleResolver(FunctionResolver):
    """A module's body is resolved like a function's; its instances show the names of the body."""

    has_modules = False  # whether the program, or what it imports, defines any

    def module(self, node: syntax.ModuleDefinition) -> program.Statement:
        self.has_modules = True
        function = self.function(node.name.name, node)
        bindings = self.scopes.functions[id(node)].bindings.values()
        members = tuple(sorted((binding.slot for binding in bindings), key=lambda slot: slot.index))
        value = program.ModuleLiteral(function, members, span=node.span)
        return program.Assign(
            program.NameTarget(self.bound(node.name), span=node.name.span), value, span=node.span
        )
