"""The codes of the front end, with what `gradcli explain` says about them: what is wrong and why, an example, the fix.

E1 syntax, E2 names and structure, E4 limits. Each example, run as a program, shows its code; a test runs them.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One entry: a title of a few words, what happened and why it is an error, the way out, a program that shows it."""

    title: str
    text: str
    fix: str
    example: str = ""


CODES: dict[str, Code] = {
    "E100": Code(
        "not UTF-8",
        "A program is UTF-8 text. The byte at this place doesn't fit, so everything behind it would be guesswork.",
        "Save the file as UTF-8.",
    ),
    "E101": Code(
        "something doesn't fit here",
        "The text up to this place is a program; with what stands here it is none.",
        "The message says what is missing, or what was probably meant.",
        "y = 2 *",
    ),
    "E102": Code(
        "a character that means nothing",
        "No word, number or sign of the language starts with this character.",
        "`**` is the power, `and`, `or` and `not` are words, strings stand in double quotes.",
        "y = 2^3",
    ),
    "E103": Code(
        "a string is wrong",
        "A string ends on the line where it begins, and a backslash in it starts one of Python's escapes.",
        'Close it with `"`; a backslash itself is written `\\\\`.',
        'print "hello',
    ),
    "E104": Code(
        "a number is wrong",
        "Numbers are decimal, without leading zeros; ints have 64 bits, and floats reach from 5e-324 to 1.8e308: what would be "
        "0 or infinite is refused. A name directly after a number is no product.",
        "Write `2*x`. For a larger int, write a float: `1e20`.",
        "y = 2x",
    ),
    "E105": Code(
        "`not` binds weaker",
        "`not` binds weaker than comparisons and arithmetic, so it can't stand right of their signs, as in Python.",
        "Put it in parentheses: `a == (not b)`.",
        "a = true\ny = a == not a",
    ),
    "E110": Code(
        "a bracket is never closed",
        "The message points at the bracket that opens.",
        "Close it. Inside `( )` and `[ ]` a statement goes on over lines, so the next lines belong to it until it is closed.",
        "y = [1, 2",
    ),
    "E111": Code(
        "a bracket closes nothing",
        "There is no open bracket of this kind.",
        "Remove it, or open one.",
        "y = 1)",
    ),
    "E113": Code(
        "`;` inside brackets",
        "`;` ends a statement, which can't end inside `( )`, `[ ]` or a dict.",
        "Separate elements with `,`, or close the bracket first.",
        "y = [1; 2]",
    ),
    "E120": Code(
        "this can't be assigned to",
        "Left of an assignment sign stands a name, an element, a member, or a list of these.",
        "A function is defined with `fn f(x) = …`; `==` compares.",
        "3 = 4",
    ),
    "E121": Code(
        "another language's spelling",
        "The word or sign means something in Python, C or JavaScript, and nothing here.",
        "The message says how it is written here.",
        "if true:",
    ),
    "E123": Code(
        "arguments or parameters out of order",
        "Positional arguments come first, each keyword once; parameters with a default come last.",
        "Reorder them.",
        "fn f(a = 1, b) = a",
    ),
    "E124": Code(
        "a size is wrong",
        "A size in a type is an int, a name that has to agree across declarations, or `_`; `...` alone is any shape.",
        "Write for example `float[3]`, `float[_, n]` or `float[...]`.",
        "var x: float[2.5]",
    ),
    "E200": Code(
        "unknown name",
        "Neither the program nor the builtins have this name. Only a file that is one expression has free names.",
        "Correct the spelling, or declare it: `var x`. `gradcli ops` lists the builtins.",
        "y = sine(1.0)",
    ),
    "E201": Code(
        "no value yet",
        "The name is assigned only later. In a function, an assignment anywhere makes the name local to the whole function.",
        "Assign it first. A `var` outside a function is updated from inside with `:=`.",
        "y = x + 1\nx = 2",
    ),
    "E202": Code(
        "wrong arguments of a builtin",
        "The call doesn't fit the builtin's signature, which the message shows.",
        "`gradcli ops NAME` describes the builtin.",
        "y = sin(1, 2)",
    ),
    "E203": Code(
        "wrong arguments of a function",
        "The call doesn't fit the parameters of the function, which the message shows.",
        "Change the call, or give the parameter a default.",
        "fn f(a, b) = a + b\ny = f(1)",
    ),
    "E204": Code(
        "`break` or `continue` outside a loop",
        "They act on the loop around them, in the same function.",
        "Use `if`, or `return` to leave a function.",
        "break",
    ),
    "E205": Code(
        "`return` outside a function",
        "The top level returns nothing to nobody, and a module gives an instance, whatever its body does.",
        "`output y` names what a program is for.",
        "return 1",
    ),
    "E206": Code(
        "a parameter stands twice",
        "An argument could go to either.",
        "Rename one.",
        "fn f(a, a) = a",
    ),
    "E207": Code(
        "a constant is assigned",
        "What is declared with `const` keeps its value.",
        "Declare it with `var`, or use another name.",
        "const c = 2\nc = 3",
    ),
    "E208": Code(
        "`:=` needs a variable",
        "`:=` updates the state of a `var` or `frozen` variable. This name holds a plain value or a constant.",
        "Declare it with `var`, or rebind it with `=`.",
        "y = 2.0\ny := 3.0",
    ),
    "E209": Code(
        "this element can't be assigned",
        "`a[i] = v` changes an array that belongs to this function alone: not a variable, a constant or a captured name.",
        "For a variable write `x[i] := v`; otherwise copy first: `b = a`, then `b[i] = v`.",
        "var x = [1.0, 2.0]\nx[0] = 3.0",
    ),
    "E210": Code(
        "a declaration in the wrong place",
        "`var`, `frozen` and `const` stand at the top level or in a module, where they can be set from outside.\n"
        "`import` stands at the top level.",
        "In a function, assign a plain name.",
        "fn f() { var x = 1.0 }",
    ),
    "E211": Code(
        "declared twice",
        "Two declarations of one name would leave open which of them is meant.",
        "Update a variable with `:=`, or use another name.",
        "var x = 1.0\nvar x = 2.0",
    ),
    "E212": Code(
        "`output` in the wrong place",
        "What a program is for stands at its top level; in a loop or a function an output would come out many times.",
        "Collect the values in a list, and output that.",
        "for i in range(3) { output i }",
    ),
    "E213": Code(
        "two outputs of one name",
        "Answers are found by their names.",
        "Name one of them: `output other = …`.",
        "x = 1.0\noutput x, x",
    ),
    "E214": Code(
        "unknown type",
        "The types are float (the run's dtype), float64, float32, int64, bool and complex128.",
        "Use one of them, with a shape behind it where needed: `float[3]`.",
        "var x: int = 1",
    ),
    "E215": Code(
        "an import has no such member",
        "The imported file has no top-level name like this.",
        "Correct the spelling, or add the name to the file.",
    ),
    "E217": Code(
        "not a function",
        "The name holds a value that can't be called. Often it hides a builtin: `sum = 0` makes `sum(x)` a call of 0.",
        "Choose another name for the value.",
        "sum = 0\ny = sum([1, 2])",
    ),
    "E218": Code(
        "a key stands twice",
        "One of the two values would be lost.",
        "Rename or remove one.",
        "d = {a: 1, a: 2}",
    ),
    "E219": Code(
        "`...` stands twice in an index",
        "`...` stands for as many axes as are left; two of them could share these in many ways.",
        "Write `:` for one of them.",
        "x = zeros([2, 2])\ny = x[..., ...]",
    ),
    "E220": Code(
        "an import isn't possible",
        "An import names a `.tg` file in the program's own folder or below it, or a module of the library.",
        "Check the path. Nothing outside the folder can be imported, also not through links.",
        'import "../other.tg" as other',
    ),
    "E221": Code(
        "imports in a circle",
        "Each of these files needs another one to have run before it.",
        "Move what they share into a file of its own.",
    ),
    "E222": Code(
        "this function can't be given a rule",
        "`backward NAME(dy, …) { … }` registers the derivative rule of an `opaque fn`, once. Any other function is\n"
        "differentiated through its body, or has its rule behind it.",
        "Declare the function `opaque fn`, or write its rule behind its body: `fn f(x) { … } backward (dy) { … }`.",
        "fn f(x) = x**2\nbackward f(dy, x) { return 2 * x * dy }",
    ),
    "E223": Code(
        "a rule doesn't fit its function",
        "The rule behind a function's body takes one parameter, the gradient of the result. One that is registered takes\n"
        "that, and what the function takes, in its order. Both return one gradient a parameter.",
        "The message shows the head to write. `return none` says that there is no gradient.",
        "opaque fn f(x, k) { return k * x }\nbackward f(dy, k, x) { return [k * dy, x * dy] }",
    ),
    "E226": Code(
        "a statement inside an expression",
        "`attach_grad(x)` makes the name x hold a variable, and has no value that an expression could use.",
        "Write it on a line of its own.",
        "x = 1.0\ny = attach_grad(x)",
    ),
    "E401": Code(
        "the source is too large",
        "A program has at most 10 MB.",
        "Put data into a file, and give it with --set or --inputs.",
    ),
    "E402": Code(
        "nesting too deep",
        "Brackets and blocks nest at most 200 deep, expressions 400, imports 50.",
        "Give names to parts of the expression, or use a loop.",
        "y = " + "(" * 201 + "1" + ")" * 201,
    ),
}
