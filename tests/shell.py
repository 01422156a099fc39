"""Commands as documents show them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path


def shell(command: str, folder: Path, scratch: Path) -> str:
    """What a command prints, on both streams; `gradcli` and `python` are those of the tests."""
    for name, arguments in {"gradcli": "-m gradcli ", "python": ""}.items():
        script = f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n'
        (scratch / name).write_text(script)
        (scratch / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{scratch}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of the console blocks, with its further lines (`> `), and what stands below."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    return [found for block in blocks for found in _commands_of(block)]


def _commands_of(block: str) -> list[tuple[str, str]]:
    found = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = part.splitlines(keepends=True)
        more = list(takewhile(lambda line: line.startswith("> "), lines[1:]))
        command = "".join([lines[0], *(line[2:] for line in more)])
        found.append((command.rstrip("\n"), "".join(lines[1 + len(more) :])))
    return found


def run_guide(text: str, folder: Path, scratch: Path) -> list[str]:
    """Goes through a page: programs with a title are saved under it, and commands are run, all in
    one folder. What they printed where it isn't what stands below them; [] if all is right."""
    wrong = []
    blocks = re.findall(r'^```(?:tg title="([^"]+)"|console)\n(.*?)^```', text, re.M | re.S)
    for name, block in blocks:
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block, encoding="utf-8")
            continue
        for command, output in _commands_of(block):
            said = shell(command, folder, scratch)
            if without_rounding(said) != without_rounding(output):
                wrong.append(f"$ {command}\n{said}")
    return wrong


DIGITS = re.compile(r"-?\d+\.\d{8,}(?:e[+-]?\d+)?")  # a number with many digits


def without_rounding(text: str) -> str:
    """A text with its numbers to twelve digits: elementary functions of rows may be rounded
    differently on another processor."""
    return DIGITS.sub(lambda found: f"{float(found[0]):.12g}", text)
