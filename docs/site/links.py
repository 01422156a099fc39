"""A hook of mkdocs: links that lead out of `docs`.

On a code host they work as they are. The site has only pages, so that there they lead to the code
host if `repo_url` is set, and are plain text if it isn't.
"""

from __future__ import annotations

import re
from typing import Any

_LEADING_OUT = re.compile(r"\[([^\]\n]+)\]\(\.\./([^)\s]*)\)")


def on_page_markdown(markdown: str, config: Any, **given: Any) -> str:
    """The page with such links changed."""
    home = (config.repo_url or "").rstrip("/")
    to = rf"[\1]({home}/blob/main/\2)" if home else r"\1"
    return _LEADING_OUT.sub(to, markdown)
