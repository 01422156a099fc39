"""The parse table: made from `gradcli.lark` with Lark when the package is built, read from JSON
when it runs.

This is the only module that imports lark, and it does so only to make a table: in the build hook,
and in a checkout whose table is missing or was made from another grammar. It imports nothing else
of the project, so that the build hook can load it by its path.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE_PATH = Path(__file__).with_name("table.json")
CHECKOUT = (
    Path(__file__).parents[2] / "grammar" / "gradcli.lark"
)  # there in an editable install, too
_WHEEL = Path(__file__).parents[1] / "grammar" / "gradcli.lark"

# What a reduction does with the parts of its rule.
PASS, LIST, BUILD, BUILD_UNLESS_SINGLE = range(4)


def read_table(path: Path = TABLE_PATH, checkout: Path = CHECKOUT) -> dict[str, Any]:
    """The parse table of the grammar at hand, stored at a path; made first where it is missing, or
    older than the checkout's grammar. What comes without one, as an installed package, has the
    table that was made for it."""
    grammar = (
        checkout.read_bytes() if checkout.is_file() else None
    )  # only there may it have changed
    with contextlib.suppress(OSError, ValueError):
        table: dict[str, Any] = json.loads(path.read_bytes())
        if grammar is None or table["grammar"] == _fingerprint(grammar):
            return table
    table = make_table(grammar or _WHEEL.read_bytes())
    with contextlib.suppress(OSError):
        write_table(table, path)
    return table


def _fingerprint(grammar: bytes) -> str:
    return f"{len(grammar)}-{zlib.crc32(grammar):08x}"


def write_table(table: dict[str, Any], path: Path) -> None:
    """Writes the table in one step, so that a reader never sees half of one."""
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(table, file, separators=(",", ":"))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def make_table(grammar: bytes) -> dict[str, Any]:
    """The LALR(1) table of a grammar; raises lark's GrammarError where the grammar has a conflict.

    grammar   the grammar's fingerprint
    start end the first state, and the state in which a program is complete
    rules     [rule, number of parts, what to do, method, parts]; a part is an index, or ~index for
              one that is a list
    actions   a state's actions by the kind of the next token: a state to shift to, or ~rule to
              reduce by
    gotos     a state's next state by the name of the rule just reduced
    """
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):  # tokens come from lexer.py
        __future_interface__ = True

        def __init__(self, lexer_conf: Any) -> None: ...

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
            return iter(())

    lark = Lark(
        grammar.decode("utf-8"), parser="lalr", lexer=NoLexer, strict=True, maybe_placeholders=False
    )
    literals = {t.name: t.pattern.value for t in lark.terminals}
    lalr = lark.parser.parser._parse_table
    # Lark numbers states and rules as its sets fall. A table is to be the same whenever and
    # wherever it is made.
    rules = sorted(lark.rules, key=str)
    rule_numbers = {rule: k for k, rule in enumerate(rules)}
    order = [lalr.start_states["start"]]
    for state in order:
        row = lalr.states[state]
        order += [
            row[symbol][1]
            for symbol in sorted(row)
            if str(row[symbol][0]) == "Shift" and row[symbol][1] not in order
        ]
    numbers = {state: k for k, state in enumerate(order)}
    nonterminals = {rule.origin.name for rule in rules}
    actions: list[dict[str, int]] = [{} for _ in order]
    gotos: list[dict[str, int]] = [{} for _ in order]
    for state, number in numbers.items():
        for symbol, (action, argument) in sorted(lalr.states[state].items()):
            if str(action) == "Reduce":
                actions[number][literals.get(symbol, symbol)] = ~rule_numbers[argument]
            elif symbol in nonterminals:
                gotos[number][symbol] = numbers[argument]
            else:
                actions[number][literals.get(symbol, symbol)] = numbers[argument]
    return {
        "grammar": _fingerprint(grammar),
        "start": 0,
        "end": numbers[lalr.end_states["start"]],
        "rules": [_rule(rule) for rule in rules],
        "actions": actions,
        "gotos": gotos,
    }


def _rule(rule: Any) -> list[Any]:
    parts: list[int] = []
    for k, symbol in enumerate(rule.expansion):
        if symbol.is_term:
            if rule.options.keep_all_tokens or not symbol.filter_out:
                parts.append(k)
        else:
            parts.append(~k if symbol.name.startswith("_") else k)
    if rule.origin.name.startswith("_"):
        shape = LIST
    elif rule.options.expand1 and not rule.alias and len(parts) == 1:
        shape = PASS if parts[0] >= 0 else BUILD_UNLESS_SINGLE
    else:
        shape = BUILD
    return [rule.origin.name, len(rule.expansion), shape, rule.alias or rule.origin.name, parts]
