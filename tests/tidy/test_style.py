"""What the style looks like."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.tidy.formatting import format_source


def formatted(text: str) -> str:
    return format_source(Source("t.tg", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y=a+b*c**-d", "y = a + b * c**-d"),
        ("y = ((a+b))*(c)", "y = ((a + b)) * (c)"),
        ("y=-x+ - z", "y = -x + -z"),
        ("y=not(a)and b or not c", "y = not (a) and b or not c"),
        ("x [1 :,: :2 ,...] = 0", "x[1:, ::2, ...] = 0"),
        ("x[a+1 : -1]", "x[a + 1:-1]"),
        ('d={a:1 ,"b c":[ ],}["b c"]', 'd = {\n    a: 1,\n    "b c": [],\n}["b c"]'),
        ("f(a=1,b = 2)", "f(a = 1, b = 2)"),
        ("fn f(x,y=2.0)=x", "fn f(x, y = 2.0) = x"),
        ("g=fn(c)=c*2", "g = fn(c) = c * 2"),
        (
            "g,h=fn(c){c},fn(d){\nreturn d}",
            "g, h = fn(c) { c },\n    fn(d) {\n        return d\n    }",
        ),
        ("print fn(){ },1", "print fn() { }, 1"),
        ("expect {x:x}~=# c\nfn()=x", "expect {x: x} ~=  # c\n    fn() = x"),
        ("fn(x)=x+1", "fn(x) = x + 1"),
        ("for x,y in fn(z)= # c\nz{ }", "for x, y in fn(z) =  # c\n    z { }"),
        ("print fn()=a,fn()=b", "print fn() = a, fn() = b"),
        ("for x in fn(){a}{b}", "for x in fn() { a } { b }"),
        ("expect fn(){a}~=b+c", "expect fn() { a } ~= b + c"),
        ("var f=fn(){a}in(0,1)", "var f = fn() { a } in (0, 1)"),
        ("if a{f=fn(x){\nreturn x}}", "if a {\n    f = fn(x) {\n        return x\n    }\n}"),
        ("var  x :float[ n,_ ]=1 in(0,1)", "var x: float[n, _] = 1 in (0, 1)"),
        ("expect a~=b within(rtol=1e-6)", "expect a ~= b within (rtol = 1e-6)"),
        ("tape t(persistent=true){y=x}", "tape t (persistent = true) { y = x }"),
        (
            "fn f(x){return x}backward(dy){return dy}",
            "fn f(x) { return x } backward (dy) { return dy }",
        ),
        ("2 .sqrt() + 2.0 . sqrt ( )", "2 .sqrt() + 2.0 .sqrt()"),
        ("x.T@w", "x.T @ w"),
        ("x:=x-1;x:-=2", "x := x - 1; x :-= 2"),
        ("print(x)", "print(x)"),
        ("print (x)*2", "print (x) * 2"),
        ('print"a",x', 'print "a", x'),
        ('import"a.tg"as b', 'import "a.tg" as b'),
        ("return_ = (1)", "return_ = (1)"),
        ("a,b=b , a", "a, b = b, a"),
        ("y = a if  c>0 else  b", "y = a if c > 0 else b"),
        ("while true{}", "while true { }"),
        ("for i,v in enumerate(x){print i}", "for i, v in enumerate(x) { print i }"),
        ("x = 1 ;", "x = 1"),
        ("x = \\\n 1 + \\\n 2", "x = 1 + 2"),
        ("x = f(\n  1,\n 2)", "x = f(1, 2)"),
        ("x = [1,2,]", "x = [1, 2]"),
        ("x = [a,2,]", "x = [\n    a,\n    2,\n]"),
        ("#c\nx=1#d\n#!e", "# c\nx = 1  # d\n#!e"),
        (
            "if a {\n\n\nx=1\n\n\n\ny=2\n\n}\n\n\n\nelse { z }",
            "if a {\n    x = 1\n\n    y = 2\n} else {\n    z\n}",
        ),
        ("if a { x }\n# why\nelse { y }", "if a {\n    x\n}\n# why\nelse {\n    y\n}"),
        ("if a { # why\nx }", "if a {  # why\n    x\n}"),
        ("x = a** # why\n2; y = 3", "x = a**2  # why\ny = 3"),
        ("x = -# c\n#d\n2; y = 3", "x = -2  # c\n# d\ny = 3"),
        ("\n\n\na=1\n\n\n\n\nb=2\n\n", "a = 1\n\n\nb = 2"),
        ("ﬁ=1;ν=ﬁ", "ﬁ = 1; ν = ﬁ"),
    ],
)
def test_on_short_lines(text: str, expected: str) -> None:
    assert formatted(text) == expected + "\n"


@pytest.mark.parametrize("text", ["", "\n\n", "  # c\n"])
def test_without_statements(text: str) -> None:
    assert formatted(text) == text.strip() + "\n" * bool(text.strip())


def test_an_unnamed_output_keeps_the_text_that_names_it() -> None:
    assert formatted("output  x**2+1 ,y,( y )\noutput z=x+1") == (
        "output x**2+1, y, (y)\noutput z = x + 1\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1 # fmt: skip\ny=2", "x=1  # fmt: skip\ny = 2"),
        ("if a { # fmt: skip\n  x=1\n}", "if a {  # fmt: skip\n    x = 1\n}"),
        ("if a {\n  x=[1,\n  2] #fmt:skip\n}", "if a {\n    x=[1,\n  2]  # fmt:skip\n}"),
        (
            "#fmt: off\nx=1 #c\n\n\n\ny=2\n# fmt: on\nz=3",
            "# fmt: off\nx=1 #c\n\n\n\ny=2\n# fmt: on\nz = 3",
        ),
        ("# fmt: off\nif a {\nx=1\n}", "# fmt: off\nif a {\nx=1\n}"),
        (
            "if a {\n# fmt: off\nx=1;  y=2 # c\n}\nz=3",
            "if a {\n    # fmt: off\n    x=1;  y=2  # c\n}\nz = 3",
        ),
        ("# fmt: on\nx=1", "# fmt: on\nx = 1"),
        ("# fmt: off\n# fmt: on\nx=1", "# fmt: off\n# fmt: on\nx = 1"),
        ("output f( x ),x ** # c\n y, z", "output f( x ),\n    x ** # c\n y,\n    z"),
        ("output z = x ** # c\n y", "output z = x**y  # c"),
    ],
)
def test_text_that_stays_as_it_is(text: str, expected: str) -> None:
    assert formatted(text) == expected + "\n"
    assert formatted(expected + "\n") == expected + "\n"


LONG = """\
model = train(fn(p) = mean((p[0]*xs + p[1] - ys)**2), [1.0, 2.0, 3.0], steps = 1000, rate = 0.001)
model = train(fn(p) = mean((p[0]*xs + p[1] - ys)**2) + 0.01*norm(p), [1.0, 2.0, 3.0], steps = 10000)
total = mean((prediction - target)**2) + decay * sum(weights**2) + other_decay * sum(abs(weights))/2 + last
xs = [1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0]
ys = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 100.0]
zs = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1000.0]
A = array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]])
value = first_alternative(x, y) if condition_on_the_arguments(x, y) else (second_alternative(x, y)) + 1
if condition_one(aaaaaaaaaaaaaaaa) and condition_two(bbbbbbbbbbbbbbbbbbbb) or condition_three(cccc) { y = 1 }
print "a label that is quite long", first_value_to_print, second_value_to_print, third_value_to_print, 4
best = minimise(fn(p) { r = p[0] - 1
return r**2 }, [0.0, 0.0])
best = minimise(fn(p) { r = p[0] - 1
return r**2 })
for b in range(7) { for c in range(7) { if b != c { expect max(abs(j[b, :, c, :])) + some_more == 0.0 } } }
"""
BROKEN = """\
model = train(fn(p) = mean((p[0] * xs + p[1] - ys)**2), [1.0, 2.0, 3.0], steps = 1000, rate = 0.001)
model = train(
    fn(p) = mean((p[0] * xs + p[1] - ys)**2) + 0.01 * norm(p), [1.0, 2.0, 3.0], steps = 10000
)
total =
    mean((prediction - target)**2) +
    decay * sum(weights**2) +
    other_decay * sum(abs(weights)) / 2 +
    last
xs = [
    1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0,
    18.0,
]
ys = [
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 100.0,
]
zs = [
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    1000.0,
]
A = array([
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0],
])
value =
    first_alternative(x, y) if condition_on_the_arguments(x, y) else (second_alternative(x, y)) + 1
if condition_one(aaaaaaaaaaaaaaaa) and condition_two(bbbbbbbbbbbbbbbbbbbb) or
        condition_three(cccc) {
    y = 1
}
print "a label that is quite long",
    first_value_to_print,
    second_value_to_print,
    third_value_to_print,
    4
best = minimise(
    fn(p) {
        r = p[0] - 1
        return r**2
    },
    [0.0, 0.0],
)
best = minimise(fn(p) {
    r = p[0] - 1
    return r**2
})
for b in range(7) {
    for c in range(7) { if b != c { expect max(abs(j[b, :, c, :])) + some_more == 0.0 } }
}
"""


def test_on_long_lines() -> None:
    assert formatted(LONG) == BROKEN
    assert formatted(BROKEN) == BROKEN


def test_ends_of_lines_are_those_of_the_first() -> None:
    assert formatted("x=1\r\ny=2\n") == "x = 1\r\ny = 2\r\n"
    assert formatted("x=1\ny=2\r\n") == "x = 1\ny = 2\n"


def test_deep_programs() -> None:
    for text in ("y = " + "(" * 199 + "1" + ")" * 199, "if a { " * 199 + "b" + " }" * 199):
        once = formatted(text)
        assert formatted(once) == once


def test_errors_are_those_of_the_parser() -> None:
    with pytest.raises(GradcliError) as caught:
        formatted("x = (1")
    assert caught.value.diagnostics[0].code == "E110"
