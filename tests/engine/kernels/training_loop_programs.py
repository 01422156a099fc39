"""Programs with loops that change variables or ask for derivatives of values, as people write them:
each compiles as a kernel when its loop first runs."""

from __future__ import annotations

DATA = """const xs = linspace(-1.0, 1.0, 24)
const ys = 2.0*xs + 1.0 + 0.1*sin(9.0*xs)
"""
SCALARS = {
    "a value that changes what it updates": """var c = 1.0
fn next(z) { c := 0.5*c + z
    return 0.1*c }
y = 0.3
for i in range(20) { y = y*c + next(i); c :-= next(y); c :+= 0.2*next(1) }
output y, c""",
    "a minimum": """var x = 3.0
for i in range(30) { x :-= 0.1*grad((x - 1.0)**2, x) }
output x**2""",
    "the loss after the loop": """var x = 3.0
for i in range(30) { loss = (x - 1.0)**2 + 0.1*x; x :-= 0.1*grad(loss, x) }
output loss""",
    "the gradient after the loop": """var x = 3.0
for i in range(30) { loss = sin(x)*x; g = grad(loss, x); x :-= 0.1*g }
output g
output more = g*x""",
    "before and after": """var x = 3.0
before = x**3
for i in range(20) { x :-= 0.1*grad(x**2, x) }
output before*x
output grad(before, x)
output grad(before*x, x)""",
    "two variables": """var a = 1.0
var b = -2.0
for i in range(25) {
    loss = (a*b - 3.0)**2 + a**2
    [da, db] = grad(loss, [a, b])
    a :-= 0.01*da
    b :-= 0.01*db
}
output loss, a*b""",
    "a dict of gradients": """var a = 1.0
var b = -2.0
for i in range(25) {
    loss = exp(a)*0.1 + (b - a)**2
    g = grad(loss, {a: a, b: b})
    a :-= 0.02*g.a
    b :-= 0.02*g.b
}
output a - b""",
    "momentum in a frozen variable": """var x = 2.0
frozen v = 0.0
for i in range(40) {
    g = grad(x**4 - x**2, x)
    v := 0.9*v - 0.01*g
    x :+= v
}
output x*v""",
    "momentum in a plain name": """var x = 2.0
v = 0.0
for i in range(40) {
    v = 0.9*v - 0.01*grad(x**4 - x**2, x)
    x :+= v
}
output x**2""",
    "momentum that is differentiated": """var x = 2.0
v = 0.0
for i in range(20) {
    v = 0.9*v - 0.01*grad(x**4 - x**2, x)
    x :+= v
}
output v*x""",
    "a tape": """var x = 2.0
for i in range(20) {
    tape t { y = x**3 - 2.0*x }
    x :-= 0.05*t.gradient(y, x)
}
output y, x**2""",
    "a persistent tape": """var x = 2.0
var w = 0.5
for i in range(20) {
    tape t (persistent = true) { y = x**3 - 2.0*x*w }
    x :-= 0.01*t.gradient(y, x)
    w :-= 0.01*t.gradient(y, w)
}
output y""",
    "a tape asked after the loop": """var x = 2.0
for i in range(20) {
    tape t (persistent = true) { y = x**3 }
    x :-= 0.01*t.gradient(y, x)
}
output t.gradient(y, x)""",
    "second order": """var x = 2.0
for i in range(20) {
    y = x**4 - 3.0*x
    d = grad(y, x)
    x :-= 0.1*d/grad(d, x)
}
output d, y""",
    "Newton on tapes in tapes": """var x = 2.0
for i in range(12) {
    tape a { tape b { y = x**3 - x }; d = b.gradient(y, x) }
    x :-= 0.2*d/a.gradient(d, x)
}
output x, d""",
    "a while loop": """var x = 3.0
n = 0
while n < 25 { x :-= 0.1*grad((x - 1.0)**2, x); n += 1 }
output x, n""",
    "a tolerance": """var x = 3.0
g = 1.0
n = 0
while abs(g) > 1e-4 and n < 200 { g = grad((x - 1.0)**2*x, x); x :-= 0.05*g; n += 1 }
output n, x*g""",
    "a break": """var x = 3.0
for i in range(200) {
    g = grad((x - 1.0)**2, x)
    if abs(g) < 1e-3 { break }
    x :-= 0.1*g
}
output i, x, g""",
    "a continue": """var x = 3.0
var y = 1.0
for i in range(40) {
    if i % 3 == 0 { y :-= 0.1*grad((y - x)**2, y); continue }
    x :-= 0.1*grad((x - y)**2 + x**2, x)
}
output x*y""",
    "a function that trains": """var x = 3.0
fn train(steps, rate) {
    for i in range(steps) { x :-= rate*grad((x - 1.0)**2, x) }
    return x**2
}
output train(30, 0.1) + train(20, 0.05)""",
    "a step in a function": """var x = 3.0
var y = 1.0
fn loss() = (x - y)**2 + 0.1*x**2
fn step(rate) { [dx, dy] = grad(loss(), [x, y]); x :-= rate*dx; y :-= rate*dy }
for i in range(30) { step(0.1) }
output loss()""",
    "a return": """var x = 3.0
fn train() {
    for i in range(100) {
        g = grad((x - 1.0)**2, x)
        if abs(g) < 0.01 { return i + x }
        x :-= 0.1*g
    }
    return 0.0
}
output train()""",
    "an inner loop": """var x = 0.3
fn energy(q) { s = 0.0; for i in range(6) { s = s + (q*i - 1.0)**2*0.1 }; return s }
for i in range(25) { x :-= 0.01*grad(energy(x), x) }
output energy(x)""",
    "an inner loop with while": """var x = 0.7
fn root(a) { y = 1.0 + a; while abs(y*y - a) > 1e-9 { y = 0.5*(y + a/y) }; return y }
for i in range(15) { x :-= 0.05*grad((root(x*x + 1.0) - 1.2)**2, x) }
output root(x + 2.0)""",
    "a rate that falls": """var x = 3.0
rate = 0.2
for i in range(30) { x :-= rate*grad((x - 1.0)**2, x); rate = rate*0.97 }
output x, rate""",
    "a temperature in the loss": """var x = 3.0
t = 1.0
for i in range(30) { x :-= 0.1*grad((x - 1.0)**2/t, x); t = t*0.99 }
output x*t""",
    "the best so far": """var x = 3.0
best = 1e9
for i in range(30) {
    loss = (x - 1.0)**2 + sin(5.0*x)
    if loss < best { best = loss }
    x :-= 0.1*grad(loss, x)
}
output best""",
    "a sum of losses": """var x = 3.0
total = 0.0
for i in range(20) { loss = (x - 1.0)**2; total = total + detach(loss); x :-= 0.1*grad(loss, x) }
output total*x""",
    "a sum of losses with its history": """var x = 3.0
total = 0.0
for i in range(20) { loss = (x - 1.0)**2; total = total + loss; x :-= 0.1*grad(loss, x) }
output total*x""",
    "projected": """var x = 3.0
for i in range(30) { x :-= 0.3*grad((x - 1.0)**2, x); x := maximum(x, 1.5) }
output x**3""",
    "scaled": """var x = 3.0
frozen c = 1.0
for i in range(30) { x := 0.9*x; c := c/1.1; x :-= 0.1*grad(x**2*c, x) }
output x*c""",
    "an int that counts": """var x = 3.0
frozen n = 0
for i in range(30) { n :+= 1; x :-= grad(x**2, x)/(n + 2) }
output x, n""",
    "what one iteration assigns": """var x = 3.0
for i in range(30) { loss = x**2; if i == 7 { seen = loss }; x :-= 0.1*grad(loss, x) }
output seen*x""",
    "printing now and then": """var x = 3.0
for i in range(80) { if i % 30 == 20 { print i, x }; x :-= 0.01*grad(x**2, x) }
output x""",
    "two loops in turn": """var x = 3.0
var y = 1.0
for k in range(3) {
    for i in range(20) { x :-= 0.1*grad((x - y)**2, x) }
    for i in range(20) { y :-= 0.1*grad((x - 2.0*y)**2, y) }
}
output x*y""",
    "another name for a variable": """var x = 3.0
z = x
for i in range(20) { z :-= 0.1*grad((x*z - 1.0)**2, z)*0.1 }
output x*z""",
    "a list of variables": """var x = 3.0
var y = 1.0
params = [x, y]
for i in range(30) {
    g = grad((params[0]*params[1] - 1.0)**2, params)
    for k in range(2) { params[k] :-= 0.01*g[k] }
}
output x*y""",
    "a dict of variables": """var x = 3.0
var y = 1.0
p = {a: x, b: y}
for i in range(30) { g = grad((p.a - 2.0*p.b)**2, p); p.a :-= 0.01*g.a; p.b :-= 0.01*g.b }
output x*y""",
    "a derivative of a function": """var x = 3.0
fn f(a) = (a - 1.0)**2
for i in range(30) { x :-= 0.1*grad(f)(x) }
output x**2""",
    "value_and_grad": """var x = 3.0
fn f(a) = (a - 1.0)**2
for i in range(30) { v, g = value_and_grad(f)(x); x :-= 0.1*g }
output v, x""",
    "a seed": """var x = 3.0
for i in range(30) { x :-= 0.1*grad(x**2, x, seed = 0.5) }
output x""",
    "over a list": """var x = 3.0
for a in [0.1*k for k in range(30)] { x :-= 0.1*grad((x - a)**2, x) }
output x""",
    "only frozen state": """frozen a = 1.0
frozen b = 1.0
for i in range(30) { a := 0.5*(a + b); b := 0.9*b }
output a, b""",
    "what depends on a variable goes through": """var x = 0.5
frozen c = 1.0
s = x
for i in range(30) { s = 0.9*s + 0.1*sin(s)*c; c := 0.99*c }
output s""",
    "variables and gradients in pairs": """var x = 3.0
var y = 1.0
params = [x, y]
for i in range(30) {
    gs = grad((x*y - 1.0)**2, params)
    for p, g in zip(params, gs) { p :-= 0.01*g }
}
output x*y""",
    "an update in a pause": """var x = 3.0
for i in range(30) {
    loss = x**2 + x
    g = grad(loss, x)
    pause { s = g*0.1; x :-= s }
}
output loss*s""",
    "what a pause computes is a constant": """var x = 3.0
for i in range(20) { pause { y = x**2 }; x :-= 0.01*grad(y*x + x, x) }
output y*x""",
    "a line search": """var x = 3.0
fn f(a) = a**4 - a
for i in range(40) {
    g = grad(f)(x)
    t = 1.0
    while f(x - t*g) > f(x) - 0.3*t*g*g { t = 0.5*t }
    x :-= t*g
}
output x""",
    "stopped early": """var x = 3.0
last = inf
for i in range(500) {
    loss = (x - 1.0)**4
    if abs(last - loss) < 1e-6 { break }
    last = loss
    x :-= 0.05*grad(loss, x)
}
output x, loss, i""",
    "a module": """module Line() { var w = 0.5; var b = 0.1; fn call(x) = w*x + b }
m = Line()
for i in range(30) {
    g = grad((m(2.0) - 3.0)**2 + m.w**2, [m.w, m.b])
    m.w :-= 0.02*g[0]
    m.b :-= 0.02*g[1]
}
output m(1.0)""",
}
ARRAYS = {
    "a value that changes what it updates": """var v = [1.0, 2.0]
fn next(z) { v[0] := 0.5*v[0] + z
    return 0.1*v[0] }
y = 0.3
for i in range(20) { v[0] :+= next(y); v :-= 0.3*[next(i), next(1)]; y = y*0.5 + v[1] }
output y, v""",
    "a line": DATA
    + """var w = 0.0
var b = 0.0
for step in range(50) {
    loss = mean((w*xs + b - ys)**2)
    g = grad(loss, {w: w, b: b})
    w :-= 0.1*g.w
    b :-= 0.1*g.b
}
output mean((w*xs + b - ys)**2)""",
    "few elements": """var p = [3.0, -1.0, 0.5]
for i in range(30) { p :-= 0.05*grad(sum((p - 1.0)**2) + p[0]*p[1], p) }
output p""",
    "Adam": DATA
    + """var p = [0.1, 0.2, 0.3]
frozen m = zeros(3)
frozen v = zeros(3)
for k in range(1, 40) {
    loss = mean((p[0] + p[1]*xs + p[2]*xs**2 - ys)**2)
    g = grad(loss, p)
    m := 0.9*m + 0.1*g
    v := 0.999*v + 0.001*g**2
    p :-= 0.01*(m/(1 - 0.9**k))/(sqrt(v/(1 - 0.999**k)) + 1e-8)
}
output loss, p""",
    "many parameters": """var w = linspace(0.0, 1.0, 30)
frozen m = zeros(30)
const a = linspace(1.0, 2.0, 30)
for i in range(25) {
    g = grad(sum((w*a - 1.0)**2), w)
    m := 0.9*m + g
    w :-= 0.01*m
}
output sum(w*a)""",
    "one element at a time": """var w = [1.0, 2.0, 3.0]
for i in range(30) { w[i % 3] :-= 0.1*grad(sum(w**2), w)[i % 3] }
output w""",
    "one element of many": """var w = linspace(0.0, 1.0, 20)
for i in range(20) { w[i] := w[i] - 0.1*grad(sum(w**2), w)[i] }
output sum(w*w)""",
    "a matrix": """var w = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
const x = [[1.0, 2.0, 3.0], [0.5, -1.0, 0.3], [0.2, 0.1, -0.4], [1.0, 1.0, 1.0]]
for i in range(25) { w :-= 0.05*grad(mean(tanh(x @ w)**2), w) }
output sum(w)""",
    "a list of losses": DATA
    + """var w = 0.0
losses = []
for i in range(100) {
    loss = mean((w*xs - ys)**2)
    losses = append(losses, detach(loss))
    w :-= 0.1*grad(loss, w)
}
output losses[3] + losses[29], w""",
    "what was recorded before": DATA
    + """var w = 0.5
var b = 0.1
before = sum(w*xs**2) + b
for i in range(30) { w :-= 0.1*grad(mean((w*xs + b - ys)**2), w) }
output before*w
output grad(before, [w, b])""",
    "stochastic, one point at a time": DATA
    + """var w = 0.5
var b = 0.1
for i in range(200) {
    k = i % 24
    [dw, db] = grad((w*xs[k] + b - ys[k])**2, [w, b])
    w :-= 0.05*dw
    b :-= 0.05*db
}
output w, b""",
    "a network by hand": """var w1 = 0.1*normal([3, 8])
var w2 = 0.1*normal([8, 1])
const x = normal([32, 3])
const y = normal([32, 1])
for i in range(60) {
    h = tanh(x @ w1)
    loss = mean((h @ w2 - y)**2)
    g = grad(loss, {a: w1, b: w2})
    w1 :-= 0.1*g.a
    w2 :-= 0.1*g.b
}
output loss""",
    "layers of nn": """import nn
layer = nn.Dense(3, 2)
const x = normal([8, 3])
for i in range(40) {
    loss = mean(layer(x)**2)
    gs = grad(loss, layer.trainable_variables)
    for p, g in zip(layer.trainable_variables, gs) { p :-= 0.1*g }
}
output loss, sum(layer.w)""",
    "Adam of nn": """import nn
net = nn.MLP([2, 4, 1])
const x = normal([8, 2])
const y = normal([8, 1])
opt = nn.Adam(net.trainable_variables, rate = 0.05)
for k in range(50) { opt.step(grad(nn.mse(net(x), y), opt.parameters)) }
output nn.mse(net(x), y)""",
    "SGD of nn": """import nn
net = nn.MLP([2, 4, 1])
const x = normal([8, 2])
const y = normal([8, 1])
opt = nn.SGD(net.trainable_variables, rate = 0.05, momentum = 0.9)
for k in range(40) {
    loss = nn.mse(net(x), y)
    opt.step(nn.clip_norm(grad(loss, opt.parameters), 1.0))
}
output loss""",
    "a recurrence": """var w = 0.5
var u = 0.3
const xs = sin(linspace(0.0, 6.0, 30))
fn run() {
    h = 0.0
    s = 0.0
    for k in range(29) { h = tanh(w*h + u*xs[k]); s = s + (h - xs[k + 1])**2 }
    return s/29
}
for i in range(30) { loss = run(); [a, b] = grad(loss, [w, u]); w :-= 0.1*a; u :-= 0.1*b }
output loss""",
}
# Programs whose loops the interpreter runs, or the first or last iterations of which it does.
OTHERS = {
    "an error in the middle": """var x = 3.0
v = [1.0, 2.0]
for i in range(30) { if i == 12 { x := v } else { x :-= 0.1*grad(x**2, x) } }
output x""",
    "an index out of range": """var x = 3.0
v = [1.0, 2.0, 3.0]
for i in range(30) { x :-= 0.1*grad(x**2*v[i], x) }
output x""",
    "an int that outgrows": """var x = 3.0
frozen n = 1
for i in range(80) { n := 3*n; x :-= 0.1*grad(x**2, x) }
output x""",
    "no gradient": """var x = 3.0
var y = 1.0
for i in range(20) { g = grad(y**2, x); y :-= 0.1*grad(y**2, y) }
output y""",
    "no gradient now and then": """var x = 3.0
var y = 1.0
for i in range(20) {
    z = x**2 if i % 7 != 5 else y**2
    g = grad(z, x, unconnected = "zero")
    x :-= 0.1*g
}
output x""",
    "through an earlier iteration": """var x = 0.5
s = 0.0
for i in range(20) { s = 0.5*s + x**2; x :-= 0.01*grad(s, x) }
output s*x""",
    "a value from before": """var x = 0.5
before = x**2
for i in range(20) { x :-= 0.01*grad(before*x, x) }
output x*before""",
    "by what is in between": """var x = 0.5
for i in range(20) { z = x**2; y = sin(z); x :-= 0.01*grad(y, z) }
output x""",
    "by what is in between, after the loop": """var x = 0.5
a = 0.0
b = 0.0
for i in range(20) { b = 0.9*a + x; a = 0.5*b + x*x; x := 0.99*x }
output grad(a*b, b), grad(a, x)""",
    "a tape around the loop": """var x = 0.5
tape t { for i in range(20) { x :-= 0.1*grad(x**2, x) }; y = x**3 }
output t.gradient(y, x)""",
    "a pause around the loop": """var x = 0.5
pause { for i in range(20) { x := 0.9*x + 0.1*sin(x) } }
output x**2""",
    "a watched variable": """frozen x = 0.5
watch x
for i in range(20) { x :-= 0.1*grad(x**2, x) }
output x**2""",
    "an attached gradient": """var x = 0.5
attach_grad(x)
for i in range(20) { record { y = x**2 }; backward(y); x :-= 0.1*x.grad }
output x**2""",
    "an attached gradient beside": """var x = 0.5
frozen z = 1.0
attach_grad(z)
for i in range(20) { x :-= 0.1*grad(x**2*z, x); z := 0.9*z }
output x*z""",
    "a function that is differentiated": """var x = 0.5
fn f(a) { for i in range(20) { x :-= 0.1*grad(x**2, x) }; return a*x }
output grad(f)(2.0)
output x**2""",
    "in forward mode": """var x = 0.5
fn f(a) { for i in range(20) { x := 0.9*x + 0.1 }; return a*x }
output jvp(f)(2.0, 1.0)
output x**2""",
    "a variable on one path": """var x = 0.5
var y = 1.0
for i in range(20) { z = x if i % 2 == 0 else y; z :-= 0.1*z }
output x*y""",
    "a name that becomes a variable": """var x = 0.5
z = 0.0
for i in range(20) { if i == 9 { z = x }; x :-= 0.1*grad(x**2, x) }
z := 3.0
output x, z""",
    "a variable that is replaced": """var x = 0.5
for i in range(20) { x = x - 0.1*x; y = x**2 }
output y""",
    "history in a list": """var x = 0.5
seen = []
for i in range(20) { y = x**2; seen = append(seen, y); x :-= 0.1*grad(y, x) }
output sum(seen)""",
    "functions made in the loop": """var x = 0.5
for i in range(20) { f = fn(a) = a*x; x :-= 0.1*grad(f(x), x) }
output f(x)""",
    "random draws": """var x = 0.5
for i in range(20) { x :-= 0.1*grad(x**2*normal(), x) }
output x""",
    "a condition on what is watched": """var x = 0.5
n = 0
while n < 20 { pause { y = x**2 }; x :-= 0.01*y; n += 1 }
output x""",
    "states that meet": """var x = 0.5
var y = 1.0
for i in range(20) { x := y; y := 0.9*x + 0.1*y*x }
output x*y
output grad(x*y, [x, y])""",
    "an array that two variables share": """var u = linspace(0.0, 1.0, 20)
var v = linspace(1.0, 2.0, 20)
for i in range(20) { u := v; v[i] := 0.5 }
u[0] := 9.0
output sum(u), sum(v)""",
    "an array that names share": """var u = linspace(0.0, 1.0, 20)
a = 1.0*u
for i in range(20) { b = a; a[i] = 0.5*u[i]; u := 0.9*u }
b[1] = 7.0
output sum(a), sum(b), sum(u)""",
    "shapes that differ": """var u = [1.0, 2.0]
for i in range(20) { u := [1.0, 2.0, 3.0] if i == 12 else 0.9*u }
output u""",
    "no iterations": """var x = 0.5
n = 5
while n < 3 { x :-= 0.1*grad(x**2, x) }
for i in range(0) { x := 3.0 }
output x**2""",
    "one iteration": """var x = 0.5
for i in range(1) { y = x**2; x :-= 0.1*grad(y, x) }
for i in range(2) { y = x**2; x :-= 0.1*grad(y, x) }
output x*y""",
    "what expects": """var x = 0.5
for i in range(20) { x :-= 0.1*grad(x**2, x); expect x > 0.0 }
output x""",
    "a rule of its own": """var x = 0.5
fn f(a) { return a**2 } backward (d) { return d*3.0*a }
for i in range(20) { x :-= 0.1*grad(f(x), x) }
output f(x)""",
    "a pause with a branch": """var x = 0.5
y = x
for i in range(20) { pause { if i % 2 == 0 { y = x*x } else { z = 1.0 } }; x :-= 0.01*grad(x**2, x) }
output y*x""",
    "a pause around a request": """var x = 0.5
for i in range(20) { y = x**2; pause { g = grad(y, x) }; x :-= 0.01*g }
output x*g""",
    "a list made in a pause": """var x = 0.5
for i in range(20) { y = x**2; pause { l = [y, x*y] }; x :-= 0.01*grad(y, x) }
output l[0] + l[1]""",
    "a module made in the loop": """module Line() { var w = 0.5; fn call(x) = w*x }
var x = 0.5
for i in range(20) { m = Line(); x :-= 0.01*grad(m(x)**2, x) }
output m(x)""",
    "gradients that keep choices, with what is differentiated": """var x = linspace(0.1, 0.9, 20)
var y = linspace(-0.5, 0.4, 20)
fn step() { y :-= 0.01*grad(sum((x - y)**2), y) }
fn train() {
    m = x
    i = 0
    while i < 20 {
        i += 1
        [da, db] = grad(mean((where(x > 0.4, y, x*x) + (i*0.1 - y)) + x*y), [x, y])
        x :-= 0.01*tanh(da)
        y :-= 0.01*tanh(db)
        step()
        [da, db] = grad(mean(y + x*y), [x, y])
        x :-= 0.01*tanh(da)
        y :-= 0.01*tanh(db)
        m = 0.5*m + 0.1*tanh(tanh(where(i*0.1 > 0.4, 0.9, i*0.1*x)))
    }
    return m*x
}
output train()""",
}
