"""Commands as documents show them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def shell(command: str, folder: Path, scratch: Path) -> str:
    """What a command prints, on both streams."""
    (scratch / "gradcli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    (scratch / "gradcli").chmod(0o755)
    environment = {**os.environ, "PATH": f"{scratch}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr
