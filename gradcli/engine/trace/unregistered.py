"""The error about a function without a gradient on the way back: where it was called, and where a
derivative was asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...diagnostics import CallSite, Diagnostic, GradcliError, Span
from .run import Run
from .tape import Site

_MAX_CALLS = 4


class UnregisteredError(GradcliError):
    """E317: a sweep has come to a function without a gradient. `span` is where that was called,
    `calls` what led there."""

    def __init__(self, what: str, span: Span, calls: tuple[CallSite, ...], help: str) -> None:
        label = "the way from the target back to the sources goes through here"
        super().__init__(
            Diagnostic("E317", f"{what} has no gradient registered", span, label, help, calls=calls)
        )

    def asked_at(self, span: Span) -> GradcliError:
        """The error where a derivative was asked for, with the place of the function in its
        text."""
        (found,) = self.diagnostics
        if found.span is None:  # outside of programs
            help = "cut the path with `detach(…)`, or register it with its derivatives"
            return GradcliError(replace(found, label="", help=help, calls=()))
        calls = [f", {call.inside} called at {call.span}" for call in found.calls[:_MAX_CALLS]]
        more = ", …" if len(found.calls) > _MAX_CALLS else ""
        label = f"the way back goes through {found.span}{''.join(calls)}{more}"
        return GradcliError(replace(found, span=span, label=label, calls=()))


def request(function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that answers with derivatives, `(run, site, …)`: an error about what it can't pass
    stands at its own place."""

    @functools.wraps(function)
    def asked(run: Run, site: Site, *arguments: Any, **keywords: Any) -> Any:
        try:
            return function(run, site, *arguments, **keywords)
        except UnregisteredError as error:
            raise error.asked_at(site.span) from None

    return asked
