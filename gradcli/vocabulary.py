"""The words of the language: how each is used, and what it does. `gradcli ops` and `gradcli
explain` show them beside the builtins and the codes."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    """A word: how a program uses it, and what it does."""

    usage: str
    summary: str


_IF = Word(
    "if CONDITION { … } elif CONDITION { … } else { … }",
    "Runs the block of the first condition that is true. In an expression: `a if c else b`.",
)
_LOGIC = Word("a and b    a or b    not a", "Combines bools; stops as soon as the answer is sure.")
_BOOL = Word("true    false", "The two bools.")
_EXPECT = Word(
    "expect CONDITION    expect A ~= B within (rtol = 1e-6)    expect …, MESSAGE",
    "States what must be true. A failure is reported with its values, and the program goes on.",
)
_ERROR = Word('expect error "TEXT" { … }', "The block must fail, and its error must say the text.")
_IMPORT = Word(
    'import "FILE.tg" as NAME    import nn',
    "Runs another program once; its names are members. `nn` has layers, losses and optimizers.",
)
_BACKWARD = Word(
    "fn NAME(…) { … } backward (dy) { … }    backward NAME(dy, …) { … }",
    "Gives a function a derivative rule of its own. `backward(y)` is a builtin.",
)

WORDS = {
    "if": _IF,
    "elif": _IF,
    "else": _IF,
    "for": Word(
        "for NAME in SEQUENCE { … }",
        "Runs the block for each element: of `range(n)`, a list, the rows of an array, the keys of "
        "a dict, `zip(a, b)`, `enumerate(a)`. In a list: `[f(v) for v in xs if c]`.",
    ),
    "in": Word(
        "for NAME in SEQUENCE { … }    var x = 1.0 in (0, 2)",
        "Stands before what `for` goes through, and before the domain of a variable.",
    ),
    "while": Word("while CONDITION { … }", "Runs the block as long as the condition is true."),
    "break": Word("break", "Leaves the innermost loop."),
    "continue": Word("continue", "Goes on with the next turn of the innermost loop."),
    "fn": Word(
        "fn NAME(PARAMETER, PARAMETER = DEFAULT) { … return VALUE }    fn NAME(x) = EXPRESSION",
        "Defines a function. Without a name it is a value: `fn(x) = x**2`.",
    ),
    "return": Word("return VALUE", "Leaves a function with a value; `return a, b` gives a list."),
    "and": _LOGIC,
    "or": _LOGIC,
    "not": _LOGIC,
    "true": _BOOL,
    "false": _BOOL,
    "none": Word(
        "none",
        "The absence of a value. A gradient that doesn't exist is `none`; `gradcli why` says why.",
    ),
    "var": Word(
        "var NAME: TYPE = VALUE in (LOW, HIGH)",
        "Declares a trainable variable. Without a value it must come from outside (`--set`).",
    ),
    "frozen": Word("frozen NAME = VALUE", "Declares a variable that is not trainable: state."),
    "const": Word("const NAME = VALUE", "Declares a value that can't be reassigned."),
    "print": Word("print VALUE, VALUE", 'Prints values; a text with values is `f"x = {x:.3f}"`.'),
    "output": Word("output NAME    output NAME = EXPRESSION", "Says what the program is for."),
    "expect": _EXPECT,
    "within": _EXPECT,
    "error": _ERROR,
    "import": _IMPORT,
    "as": _IMPORT,
    "module": Word(
        "module NAME(PARAMETERS) { … }",
        "Defines a collection of variables and functions; a call makes an instance.",
    ),
    "opaque": Word(
        "opaque fn NAME(PARAMETERS) { … }",
        "Defines a function without a gradient, until `backward NAME` registers one.",
    ),
    "backward": _BACKWARD,
    "tape": Word(
        "tape NAME (persistent = false, watch_variables = true) { … }",
        "Records the block; `NAME.gradient(y, x)` asks for derivatives, `NAME.jacobian` likewise.",
    ),
    "watch": Word("watch VALUE", "Makes gradients with respect to the value possible."),
    "pause": Word("pause { … }", "Records nothing in the block."),
    "record": Word("record { … }", "Records what `backward` may walk."),
}
