"""Functions `f(x, w)` that are written with recursion, as users write them."""

MINORS = """fn minor(m, col) {
    out = []
    for i in range(1, len(m)) {
        row = []
        for j in range(len(m)) { if j != col { row = append(row, m[i][j]) } }
        out = append(out, row)
    }
    return out
}
fn det(m) {
    n = len(m)
    if n == 1 { return m[0][0] }
    s = 0.0; sign = 1.0
    for j in range(n) { s += sign*m[0][j]*det(minor(m, j)); sign = -sign }
    return s
}
fn f(x, w) = det([[2.0, x, 0.5, w, 1.0], [0.3, 3.0, x*w, 0.7, x], [0.1, w, 4.0, 0.3, 0.2], [x, 0.6, 0.7, 5.0, w], [0.5, 0.1, w, x, 2.0]])"""
MASKS = """fn f(x, w) {
    m = [[2.0, x, 0.5, w], [0.3, 3.0, x*w, 0.7], [0.1, w, 4.0, 0.3], [x, 0.6, 0.7, 5.0]]
    fn det(row, used) {
        if row == 4 { return 1.0 }
        s = 0.0; sign = 1.0; bit = 1
        for j in range(4) {
            if (used // bit) % 2 == 0 {
                s += sign*m[row][j]*det(row + 1, used + bit)
                sign = -sign
            }
            bit = 2*bit
        }
        return s
    }
    return det(0, 0)
}"""
FLAGS = """fn f(x, w) {
    m = zeros([5, 5])
    for i in range(5) { for j in range(5) { m[i, j] = (3.0*x if i == j else 0.0) + cos(w*i*j + j) } }
    fn det(row, used) {
        if row == 5 { return 1.0 }
        s = 0.0; sign = 1.0
        for j in range(5) {
            if not used[j] {
                u = used
                u[j] = true
                s += sign*m[row, j]*det(row + 1, u)
                sign = -sign
            }
        }
        return s
    }
    return det(0, [false, false, false, false, false])
}"""
ADAPTIVE = """fn f(x, w) {
    fn g(t) = exp(-w*t) + x*t*t
    fn part(a, b, ga, gb, depth) {
        c = (a + b)/2
        gc = g(c)
        if depth == 0 or abs(ga - 2*gc + gb) < 1e-2 { return (b - a)*(ga + 4*gc + gb)/6 }
        return part(a, c, ga, gc, depth - 1) + part(c, b, gc, gb, depth - 1)
    }
    return part(x, 2.0, g(x), g(2.0), 6)
}"""
TREE = """fn f(x, w) {
    v = sin(arange(31)*x) + w
    fn value(i) {
        if 2*i + 1 >= len(v) { return tanh(v[i]) }
        return tanh(v[i] + value(2*i + 1)*value(2*i + 2))
    }
    return value(0)
}"""
FILLED = """fn f(x, w) {
    fn fill(a, k) {
        if k == 0 { a[0] = a[0]*x; return a }
        a[k] = a[k]*w + a[k - 1]*x
        b = fill(a, k - 1)
        b[k] += b[0]*a[k]
        return b
    }
    return sum(fill(ones(20)*w, 6)**2)
}"""
DIVIDED = """fn f(x, w) {
    fn p(y, n) {
        if n == 0 { return 1.0 }
        if n % 2 == 0 { h = p(y, n // 2); return h*h }
        return y*p(y, n - 1)
    }
    return p(x, 13)*p(w, 6)
}"""
ACKERMANN = """fn f(x, w) {
    fn a(m, n) {
        if m == 0 { return x*(n + 1) }
        if n == 0 { return a(m - 1, 1) }
        return x*a(m - 1, n - 1) + w*a(m, n - 1)
    }
    return a(2, 3)
}"""
FIBONACCI = """fn f(x, w) {
    fn fib(n, a, b) {
        if n < 2 { return a if n == 0 else b }
        return 0.6*fib(n - 1, a, b) + fib(n - 2, a, b)*a
    }
    return fib(7, x, w)
}"""
BESSEL = """fn f(x, w) {
    fn fraction(k) { if k > 30 { return w }; return 1/(2*(k + 1)/x - fraction(k + 1)) }
    return fraction(1)
}"""
CHEBYSHEV = """fn f(x, w) {
    fn t(n, y) { if n == 0 { return 1.0 }; if n == 1 { return y }; return 2*y*t(n - 1, y) - t(n - 2, y) }
    s = 0.0
    for k in range(4) { s += w**k*t(2*k, x) }
    return s
}"""
IN_TURN = """fn f(x, w) {
    fn even(a, k) { if k == 0 { return a }; return odd(sin(a) + w*x, k - 1) }
    fn odd(a, k) { return even(cos(a) - x, k - 1)*a }
    return even(x, 6)
}"""
PASSED = """fn f(x, w) {
    fn iterate(g, a, n) { if n == 0 { return a }; return iterate(g, g(a), n - 1)*w }
    return iterate(fn(a) = sin(a) + 0.3*x, x, 7)
}"""
TWICE = """fn f(x, w) {
    fn walk(n, v) {
        if n == 0 { return v }
        a = walk(n - 1, v*0.99 + 0.01*x)
        b = sin(a)*w + v
        return walk(n - 1, b*0.5)
    }
    return walk(5, x)
}"""
IN_LOOPS = """fn f(x, w) {
    fn g(a, n) {
        s = 0.0; i = 0
        while i < n { s += sin(a + i*w)*g(a*x, i); i += 1 }
        return s + a
    }
    return g(x, 4)
}"""
HALVES = """fn f(x, w) {
    fn halves(xs, s) { out = []; for i in range(len(xs)//2) { out = append(out, xs[2*i + s]) }; return out }
    fn fft(re, im) {
        n = len(re)
        if n == 1 { return [re, im] }
        er, ei = fft(halves(re, 0), halves(im, 0))
        our, oui = fft(halves(re, 1), halves(im, 1))
        a = []; b = []
        for k in range(n) {
            h = k % (n//2)
            t = -2*pi*k/n
            a = append(a, er[h] + cos(t)*our[h] - sin(t)*oui[h])
            b = append(b, ei[h] + sin(t)*our[h] + cos(t)*oui[h])
        }
        return [a, b]
    }
    re, im = fft([x, w, x*w, 0.5], [0.0, 0.1, 0.0, w])
    return re[1]**2 + im[1]*re[3]
}"""
BOTH_WAYS = """fn f(x, w) {
    fn pair(n, a, b) {
        if n == 0 { return [a, b] }
        p, q = pair(n - 1, a*x, b + a)
        return [q*w, p]
    }
    p, q = pair(5, x, w)
    return p + 0.1*q
}"""

SLICES = """fn f(x, w) {
    fn minor(m, j) = concatenate([m[1:, :j], m[1:, j + 1:]], axis = 1)
    fn det(m) {
        if len(m) == 1 { return m[0, 0] }
        s = 0.0
        for j in range(len(m)) { s += (-1.0)**j*m[0, j]*det(minor(m, j)) }
        return s
    }
    return det([[2.0, x, 0.5, w], [0.3, 3.0, x*w, 0.7], [0.1, w, 4.0, 0.3], [x, 0.6, 0.7, 5.0]]*x)
}"""
IN_TURN_ON_SLICES = """fn f(x, w) {
    fn minor(m, j) {
        rows = []
        for row in m[1:] { rows = append(rows, concatenate([row[:j], row[j + 1:]])) }
        return rows
    }
    fn det(m) = m[0][0] if len(m) == 1 else expanded(m, 0)
    fn expanded(m, j) {
        if j == len(m) { return 0.0 }
        t = m[0][j]*det(minor(m, j))
        return (t if j % 2 == 0 else -t) + expanded(m, j + 1)
    }
    return det(array([[2.0, x, 0.5], [0.3, w, x*w], [0.1, w, x]]))
}"""
SHORTER = """fn f(x, w) {
    fn total(xs) { if len(xs) == 0 { return x }; return xs[0]*total(xs[1:]) + w }
    return total([x, w, x*w, 0.5, w]) + total([])
}"""
WINDOWS = """fn f(x, w) {
    v = sin(arange(12)*x)
    fn g(i, y) { if i > 8 { return y }; return g(i + 3, y*sum(v[i:i + 3])) + g(i + 4, y) }
    return g(0, w)
}"""
SORTED = """fn f(x, w) {
    fn merged(a, b) {
        if len(a) == 0 { return b }
        if len(b) == 0 { return a }
        c = merged(a[1:], b) if a[0] < b[0] else merged(a, b[1:])
        out = [a[0] if a[0] < b[0] else b[0]]
        for each in c { out = append(out, each*w) }
        return out
    }
    c = merged([x, 1.5], [w, 2*w])
    return c[0] + x*c[2]
}"""
GAME = """fn f(x, w) {
    fn soft(values) {
        m = values[0]
        for v in values { m = maximum(m, v) }
        s = 0.0
        for v in values { s += exp((v - m)/w) }
        return m + w*log(s)
    }
    fn value(state, depth) {
        if depth == 0 { return sin(x*state) + w*(state % 3) }
        values = []
        for move in range(1, 4) { values = append(values, -value(state - move, depth - 1)) }
        return soft(values)
    }
    return value(11, 3)
}"""

PROGRAMS = {
    "minors": MINORS, "masks": MASKS, "flags": FLAGS, "adaptive": ADAPTIVE, "tree": TREE,
    "filled": FILLED, "divided": DIVIDED, "ackermann": ACKERMANN, "fibonacci": FIBONACCI,
    "bessel": BESSEL, "chebyshev": CHEBYSHEV, "in turn": IN_TURN, "passed": PASSED,
    "twice": TWICE, "in loops": IN_LOOPS, "halves": HALVES, "both ways": BOTH_WAYS,
    "slices": SLICES, "in turn on slices": IN_TURN_ON_SLICES, "shorter": SHORTER,
    "windows": WINDOWS, "sorted": SORTED, "game": GAME,
}  # fmt: skip
