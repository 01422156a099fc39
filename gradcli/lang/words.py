"""Words of other languages, and what to write here instead."""

from __future__ import annotations

OTHER_WORDS = {
    "def": "a function is defined with `fn name(…) { … }`",
    "function": "a function is defined with `fn name(…) { … }`",
    "func": "a function is defined with `fn name(…) { … }`",
    "lambda": "an anonymous function is `fn(x) = …`",
    "let": "a plain name is assigned without a keyword; a variable is declared with `var`",
    "True": "write `true`",
    "False": "write `false`",
    "None": "write `none`",
    "null": "write `none`",
    "elseif": "write `elif`",
    "elsif": "write `elif`",
    "class": "a collection of variables is a `module Name(…) { … }`",
    "from": 'write `import "file.tg" as name`',
    "with": "a tape is opened with `tape t { … }`",
    "assert": "write `expect`",
    "del": "there is nothing to delete; values go when nothing needs them",
    "pass": "a block may be empty: `{ }`",
    "global": "`:=` updates a `var` from inside a function",
    "nonlocal": "`:=` updates a `var` from inside a function",
    "try": 'write `expect error "…" { … }` where a failure is expected',
    "raise": "the language raises no errors of its own; see `expect`",
    "then": "a block stands in braces: `if c { … }`",
    "do": "a block stands in braces: `while c { … }`",
    "is": "write `==`",
    "async": "the language has no concurrency",
    "yield": "write `return`",
}
