"""A language server: answers an editor over standard input and output, by pygls.

A text is looked at `_DELAY` seconds after its last change, so that a burst of changes is answered
once. What programs compute is never run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from functools import partial
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..diagnostics import GradcliError, Span, shortened
from ..tidy.findings import Fix
from ..tidy.formatting import format_source
from ..tidy.linting import Wanted
from .completion import Item, completions
from .definition import definition
from .document import Document
from .hover import hover
from .positions import Position, Positions
from .problems import Problem, problems

_DELAY = 0.01
_KINDS = {
    "variable": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "module": types.CompletionItemKind.Module,
    "class": types.CompletionItemKind.Class,
    "constant": types.CompletionItemKind.Constant,
    "type": types.CompletionItemKind.TypeParameter,
    "keyword": types.CompletionItemKind.Keyword,
    "member": types.CompletionItemKind.Field,
}


def serve(wanted: Wanted) -> int:
    """Answers one editor until it says `exit`, or goes away; `wanted` is what lint looks for. The
    exit code is 1 if it went without `shutdown`."""
    logging.basicConfig(level=logging.ERROR)  # on standard error
    server = Server(wanted)
    stdout, stderr = sys.stdout.fileno(), sys.stderr.fileno()
    with os.fdopen(os.dup(stdout), "wb") as output:  # which pygls closes
        os.dup2(stderr, stdout)  # nothing else that prints disturbs the protocol
        server.protocol.start_io(stdout=output)
    return 0 if server.is_shut_down else 1


class Server:
    """The server, and the documents that it looked at."""

    def __init__(self, wanted: Wanted) -> None:
        kind = types.TextDocumentSyncKind.Full
        self.protocol = LanguageServer("gradcli", __version__, text_document_sync_kind=kind)
        self.wanted = wanted
        self.is_shut_down = False
        self._looked_at: dict[str, tuple[int | None, Document]] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self.problems: dict[str, list[Problem]] = {}  # that the editor was told
        for name, answer in _FEATURES.items():
            self.protocol.feature(name)(partial(answer, self))
        triggers = types.CompletionOptions(trigger_characters=["."])
        complete = self.protocol.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)
        complete(partial(_complete, self))
        kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix])
        act = self.protocol.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
        act(partial(_act, self))

    # ---- documents -------------------------------------------------------------------------------

    def document(self, uri: str) -> Document:
        """The document at its present version; an empty one where it is neither open nor a file
        that can be read."""
        document = self.protocol.workspace.get_text_document(uri)
        try:
            text = document.source
        except (OSError, UnicodeError):
            text = ""
        known = self._looked_at.get(uri)
        if known is None or known[0] != document.version or known[1].source.text != text:
            known = document.version, Document(_file_name(uri), text)
            self._looked_at[uri] = known
        return known[1]

    def positions(self, document: Document) -> Positions:
        encoding: Any = types.PositionEncodingKind(self.protocol.workspace.position_encoding)
        return Positions(document.source.text, encoding.value)

    def offset(self, document: Document, position: types.Position) -> int:
        asked = Position(position.line, position.character)
        return self.positions(document).offset(asked)

    def range(self, document: Document, span: Span) -> types.Range:
        positions = self.positions(document)
        start, end = positions.position(span.start), positions.position(span.end)
        return types.Range(types.Position(*start), types.Position(*end))

    def location(self, span: Span) -> types.Location:
        """A place in a file, which need not be open."""
        uri = uris.from_fs_path(span.source.name) or ""
        return types.Location(uri, self.range(Document(span.source.name, span.source.text), span))

    # ---- problems --------------------------------------------------------------------------------

    def changed(self, uri: str) -> None:
        """Looks at a document soon."""
        self.forget(uri)
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(_DELAY, self.publish, uri)

    def forget(self, uri: str) -> None:
        self.problems.pop(uri, None)
        if waiting := self._waiting.pop(uri, None):
            waiting.cancel()

    def close(self, uri: str) -> None:
        self.forget(uri)
        self._looked_at.pop(uri, None)
        self.say(uri, [])

    def publish(self, uri: str) -> None:
        """Tells the editor the problems of a document."""
        self._waiting.pop(uri, None)
        document = self.document(uri)
        self.problems[uri] = problems(document, self.wanted)
        found = [self.diagnostic(problem, document) for problem in self.problems[uri]]
        self.say(uri, found, self.protocol.workspace.get_text_document(uri).version)

    def say(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        self.protocol.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, found, version)
        )

    def diagnostic(self, problem: Problem, document: Document) -> types.Diagnostic:
        levels = types.DiagnosticSeverity
        severity = levels.Error if problem.diagnostic.severity == "error" else levels.Warning
        related = None
        if problem.origin is not None:
            location = self.location(problem.origin)
            related = [types.DiagnosticRelatedInformation(location, problem.diagnostic.message)]
        return types.Diagnostic(
            self.range(document, problem.span),
            problem.message,
            severity=severity,
            code=problem.diagnostic.code,
            source="gradcli",
            tags=[types.DiagnosticTag.Unnecessary] if problem.is_unnecessary else None,
            related_information=related,
        )


def _file_name(uri: str) -> str:
    """The path of a document; one that is in no file is called like standard input is."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return path or "<editor>"


# ---- what an editor asks -------------------------------------------------------------------------


def _did_open(server: Server, params: types.DidOpenTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


def _did_change(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


def _did_save(server: Server, params: types.DidSaveTextDocumentParams) -> None:
    """All are looked at: others may import what was saved."""
    for uri in server.protocol.workspace.text_documents:
        server.changed(uri)


def _did_close(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.close(params.text_document.uri)


def _shutdown(server: Server, params: None) -> None:
    server.is_shut_down = True


def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    document = server.document(params.text_document.uri)
    found = hover(document, server.offset(document, params.position))
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
    return types.Hover(content, server.range(document, found.span))


def _define(server: Server, params: types.DefinitionParams) -> types.Location | None:
    document = server.document(params.text_document.uri)
    found = definition(document, server.offset(document, params.position))
    if found is None:
        return None
    if found.source.name == document.source.name:
        return types.Location(params.text_document.uri, server.range(document, found))
    return server.location(found)


def _complete(server: Server, params: types.CompletionParams) -> types.CompletionList:
    document = server.document(params.text_document.uri)
    found = completions(document, server.offset(document, params.position))
    return types.CompletionList(False, [_completion(item) for item in found])


def _completion(item: Item) -> types.CompletionItem:
    return types.CompletionItem(
        item.word,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=item.text or None,
        sort_text=f"{item.rank}{item.word}",
    )


def _act(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes of the problems in a range, as `lint --fix` would make them."""
    uri = params.text_document.uri
    document = server.document(uri)
    start = server.offset(document, params.range.start)
    end = server.offset(document, params.range.end)
    return [
        _quick_fix(server, uri, document, problem, problem.fix)
        for problem in server.problems.get(uri, [])
        if problem.fix is not None and problem.span.start <= end and start <= problem.span.end
    ]


def _quick_fix(
    server: Server, uri: str, document: Document, problem: Problem, fix: Fix
) -> types.CodeAction:
    span = Span(document.source, fix.start, fix.end)
    edit = types.TextEdit(server.range(document, span), fix.text)
    return types.CodeAction(
        f"Write `{shortened(fix.text)}`",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[server.diagnostic(problem, document)],
        edit=types.WorkspaceEdit({uri: [edit]}),
        is_preferred=True,
    )


def _format(server: Server, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """The whole text in the one style; nothing where it has errors, which are shown anyway."""
    document = server.document(params.text_document.uri)
    try:
        text = format_source(document.source)
    except GradcliError:
        return None
    if text == document.source.text:
        return []
    whole = Span(document.source, 0, len(document.source.text))
    return [types.TextEdit(server.range(document, whole), text)]


_FEATURES: dict[str, Any] = {
    types.TEXT_DOCUMENT_DID_OPEN: _did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _did_change,
    types.TEXT_DOCUMENT_DID_SAVE: _did_save,
    types.TEXT_DOCUMENT_DID_CLOSE: _did_close,
    types.SHUTDOWN: _shutdown,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _define,
    types.TEXT_DOCUMENT_FORMATTING: _format,
}
