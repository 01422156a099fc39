"""Closed forms: a trace read back as SymPy expressions, and what SymPy makes of them. SymPy enters
only here.

`traces` keeps what closed forms need of a run, and can force conditions; `forms` reads a trace by
the counterparts of the table's entries, with numbers that stay exact (`exact`). SymPy's own `diff`
differentiates (`calculus`).
"""

from __future__ import annotations
