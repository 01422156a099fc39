"""An editor, as a language server sees it: another process, and JSON-RPC over pipes."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

SECONDS = 60  # to wait for an answer, at most


class Editor:
    """A client of `gradcli lsp`, and the documents that it has open."""

    def __init__(
        self,
        *arguments: str,
        folder: Path | None = None,
        packages: Path | None = None,
        **capabilities: Any,
    ) -> None:
        command = [sys.executable, "-P", "-m", "gradcli", "lsp", *arguments]
        environment = {**os.environ, **({"PYTHONPATH": str(packages)} if packages else {})}
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment
        )
        self._ids = itertools.count(1)
        self._versions: dict[str, int] = {}
        self._received: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        assert self.server.stdout is not None
        reader = threading.Thread(target=self._read, args=(self.server.stdout,), daemon=True)
        reader.start()
        told = {"processId": None, "rootUri": None, "capabilities": capabilities}
        self.capabilities = self.ask("initialize", told)["capabilities"]
        self.tell("initialized", {})

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.server.poll() is None and kind is None:
            assert self.close() == (0, "")
        self.kill()

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()
        for pipe in (self.server.stdin, self.server.stdout, self.server.stderr):
            assert pipe is not None
            pipe.close()

    def close(self) -> tuple[int, str]:
        """Ends the server as the protocol wants it; its exit code, and what it wrote to standard
        error."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        code = self.server.wait(SECONDS)
        assert self.server.stderr is not None
        return code, self.server.stderr.read().decode()

    # ---- messages --------------------------------------------------------------------------------

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        answer = self._next(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.server.stdin.flush()

    def _next(self, fits: Any) -> dict[str, Any]:
        for k, message in enumerate(self._kept):
            if fits(message):
                return self._kept.pop(k)
        while (received := self._received.get(timeout=SECONDS)) is not None:
            if fits(received):
                return received
            self._kept.append(received)
        raise EOFError("the server has ended")

    def _read(self, stream: BinaryIO) -> None:
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._received.put(json.loads(stream.read(length)))
        self._received.put(None)

    # ---- documents -------------------------------------------------------------------------------

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Opens a document; its problems."""
        self._versions[uri] = next(self._ids)  # one that no answer before was about
        version = self._versions[uri]
        document = {"uri": uri, "languageId": "gradcli", "version": version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.problems(uri)

    def change(self, uri: str, text: str) -> None:
        self._versions[uri] = next(self._ids)
        document = {"uri": uri, "version": self._versions[uri]}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.tell("textDocument/didChange", params)

    def problems(self, uri: str) -> list[dict[str, Any]]:
        """The problems of the latest version of a document."""
        version = self._versions[uri]

        def fits(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            is_problems = message.get("method") == "textDocument/publishDiagnostics"
            return is_problems and (params["uri"], params.get("version")) == (uri, version)

        found: list[dict[str, Any]] = self._next(fits)["params"]["diagnostics"]
        return found

    def ask_at(self, question: str, uri: str, line: int, column: int) -> Any:
        position = {"line": line, "character": column}
        params = {"textDocument": {"uri": uri}, "position": position}
        return self.ask(f"textDocument/{question}", params)

    def fixes(self, uri: str, line: int) -> Any:
        """The quick fixes that are offered in a line."""
        place = {"line": line, "character": 0}
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": place, "end": {"line": line, "character": 999}},
            "context": {"diagnostics": []},
        }
        return self.ask("textDocument/codeAction", params)

    def format(self, uri: str) -> Any:
        options = {"tabSize": 4, "insertSpaces": True}
        params = {"textDocument": {"uri": uri}, "options": options}
        return self.ask("textDocument/formatting", params)
