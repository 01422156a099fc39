"""`lint`: what could be written better in a program, and what of it can be mended at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Source
from ..engine.analysis.discarded import discarded
from ..lang.parser import parse
from ..platform.recursion import recursion
from ..tasks.each import Diagnoses, each
from ..tasks.programs import program_source, resolve_program
from .facts import Facts
from .findings import Finding, Fix, Linted
from .formatting import FRAMES
from .rewriting import write_program
from .rules import RULES
from .suppression import without_ignored

_ROUNDS = 10  # a fix may uncover another


class Wanted(NamedTuple):
    """What to look for: codes that begin with one of `select` (all, where there is none), and with
    none of `ignore`; and whether what has a fix is mended in the file."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fixes: bool = False

    def has(self, code: str) -> bool:
        return code.startswith(self.select or "") and not code.startswith(self.ignore)


EVERYTHING = Wanted()


def lint_all(
    names: Sequence[str], expr: str | None, wanted: Wanted, diagnoses: Diagnoses | None
) -> Iterator[Linted]:
    """What is found in the programs in these files, in their order; `-` is standard input, and with
    `expr` that is the one program."""
    return each(partial(lint, expr=expr, wanted=wanted), names, _failed, diagnoses)


def lint(name: str, expr: str | None = None, wanted: Wanted = EVERYTHING) -> Linted:
    """What is found in one program; what is wrong with it or its file is an error of the answer."""
    answer = _failed(name, [])
    try:
        source = program_source(name, expr)
        answer.findings = find(source, wanted)
        if wanted.fixes and expr is None and name != "-":
            text = source.text
            for _ in range(_ROUNDS):
                fixes = [finding.fix for finding in answer.findings if finding.fix]
                if not fixes:
                    break
                source, done = apply_fixes(source, fixes)
                answer.fixed += done
                answer.findings = find(source, wanted)
            if source.text != text:
                write_program(name, source.text)
    except GradcliError as error:
        answer.errors = error.diagnostics
    return answer


def _failed(name: str, errors: list[Diagnostic]) -> Linted:
    return Linted("<stdin>" if name == "-" else name, errors=errors)


def find(source: Source, wanted: Wanted = EVERYTHING) -> list[Finding]:
    """The findings in a program, in the order of the text. Raises GradcliError."""
    tree = parse(source)
    program = resolve_program(tree, source)
    with recursion(FRAMES):
        facts = Facts(tree, source)
        found = [
            replace(finding, fix=None) if facts.is_in_a_name(finding.span.start) else finding
            for rule in RULES
            for finding in rule(facts)
        ]
    found += [Finding(warning) for warning in discarded(program) if warning.span is not None]
    found = [finding for finding in found if wanted.has(finding.diagnostic.code)]
    found.sort(key=lambda finding: (finding.span.start, finding.diagnostic.code))
    return without_ignored(found, source)


def apply_fixes(source: Source, fixes: Sequence[Fix]) -> tuple[Source, int]:
    """The source with its fixes, and how many: of those that overlap only the first."""
    text, end, done = "", 0, 0
    for fix in sorted(fixes):
        if fix.start >= end:
            text += source.text[end : fix.start] + fix.text
            end = fix.end
            done += 1
    return Source(source.name, text + source.text[end:]), done
