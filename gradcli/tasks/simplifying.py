"""The process that simplifies, to be started before the imports of what needs it."""

from __future__ import annotations

from ..engine.symbolic.simplifier import Simplifier as Simplifier
