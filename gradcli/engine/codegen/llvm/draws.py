"""Random numbers in machine code, bit for bit those of NumPy's generator: its seed sequence, Philox
4x64 with ten rounds, and NumPy's own functions that turn its words into normal and bounded
numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from llvmlite import ir

from ...ir.instructions import Structural
from ...ir.types import dimensions
from .assembly import offer_random
from .frame import ADDRESS, BIT, DOUBLE, FLOAT, INT, NOTHING, count_up, declared, own_function

WORD, WIDE = ir.IntType(32), ir.IntType(128)
# The fields of a generator: two words of the key, the number of blocks so far, the used words of
# the last block, whether half of the last word is unused, that word, and the block.
KEY, BLOCKS, USED, IS_HALF, HALVED, BLOCK, SIZE = 0, 2, 3, 4, 5, 6, 4
GENERATOR = ir.ArrayType(INT, BLOCK + SIZE)
# NumPy's functions of a generator that it sees through pointers.
STANDARD, BOUNDED = "random_standard_normal", "random_bounded_uint64_fill"
WORK, WORK_EACH = 200, 40  # about how many instructions a draw takes, and each of its numbers
# The constants of NumPy's `SeedSequence` for hashing on the way in and out, and for mixing.
IN, OUT = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
MIX_LEFT, MIX_RIGHT = 0xCA01F9DD, 0x4973F715
# Philox: the factors of a round, and the growth of the key after one.
FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
GROWTH = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
ROUNDS = 10
UNIT = 2.0**-53


def is_native(made: Structural) -> bool:
    """Whether a draw has machine code: a draw of numbers whose distribution is valid."""
    options = dict(made.options)
    if made.op.name == "uniform":
        return _are(options["low"], options["high"], kinds=(int, float))
    if made.op.name == "normal":
        mean, std = options["mean"], options["std"]
        return _are(mean, std, kinds=(int, float)) and std >= 0 and offer_random(STANDARD)
    if made.op.name != "randint":
        return False
    low, high = options["low"], options["high"]
    return _are(low, high, kinds=(int,)) and low < high and offer_random(BOUNDED)


def _are(*given: Any, kinds: tuple[type, ...]) -> bool:
    return all(type(each) in kinds for each in given)


def work_of_draw(made: Structural) -> int:
    """About how many instructions a draw takes."""
    return WORK + WORK_EACH * prod(dimensions(made.results[0].type))


def draw(make: Any, made: Structural, state: Sequence[Any], place: Any) -> None:
    """Emits a draw from the seed and the number of the draw. Its numbers go to memory, from `place`
    on."""
    name, options = made.op.name, dict(made.options)
    if name == "normal":
        start, width = options["mean"], options["std"]
    else:
        start, width = options["low"], options["high"] - options["low"]
    if name == "randint":
        numbers = [INT(n) for n in (start, width - 1)]
    else:
        numbers = [DOUBLE(float(n)) for n in (start, width)]
    size = INT(prod(dimensions(made.results[0].type)))
    make.call(_filler(make.module, name, place.type), [*state, *numbers, size, place])


def _filler(module: Any, name: str, kind: Any) -> Any:
    """The function that fills memory with numbers of a distribution, given by a start and a
    width."""
    number = INT if name == "randint" else DOUBLE
    parameters = [INT, INT, number, number, INT, kind]

    def body(make: Any, seed: Any, number: Any, *rest: Any) -> None:
        generator = make.alloca(GENERATOR)
        make.call(_begin(module), [generator, seed, number])
        _FILLING[name](make, make.bitcast(generator, ADDRESS), *rest)

    return own_function(module, f"draw_{name}_{kind.pointee}", NOTHING, parameters, body)


def _normal(make: Any, state: Any, mean: Any, std: Any, size: Any, into: Any) -> None:
    kind = ir.FunctionType(DOUBLE, [ADDRESS])
    standard, view = declared(make.module, STANDARD, kind), _view(make, state)
    _spread(make, lambda: make.call(standard, [view]), mean, std, size, into)


def _uniform(make: Any, state: Any, low: Any, width: Any, size: Any, into: Any) -> None:
    _spread(make, lambda: make.call(_unit(make.module), [state]), low, width, size, into)


def _spread(
    make: Any, standard: Callable[[], Any], start: Any, width: Any, size: Any, into: Any
) -> None:
    """Emits a loop over numbers of a distribution in its standard form, shifted by `start` and
    scaled by `width`."""

    def fill(index: Any) -> None:
        found = make.fadd(start, make.fmul(width, standard()))
        found = make.fptrunc(found, FLOAT) if into.type.pointee == FLOAT else found
        make.store(found, make.gep(into, [index]))

    count_up(make, size, 1, fill)


def _randint(make: Any, state: Any, low: Any, width: Any, size: Any, into: Any) -> None:
    kind = ir.FunctionType(NOTHING, [ADDRESS, INT, INT, INT, BIT, INT.as_pointer()])
    function = declared(make.module, BOUNDED, kind)
    make.call(function, [_view(make, state), low, width, size, BIT(0), into])


_FILLING = {"normal": _normal, "uniform": _uniform, "randint": _randint}


def _view(make: Any, state: Any) -> Any:
    """Emits NumPy's view of a generator (`numpy/random/bitgen.h`)."""
    view = make.alloca(ir.ArrayType(ADDRESS, 5))
    parts = [make.bitcast(f(make.module), ADDRESS) for f in (_next, _next_half, _unit, _next)]
    for k, part in enumerate((state, *parts)):
        make.store(part, _part(make, view, k))
    return make.bitcast(view, ADDRESS)


def _unit(module: Any) -> Any:
    """The function that returns the next number between 0 and 1."""

    def body(make: Any, state: Any) -> Any:
        bits = make.lshr(make.call(_next(module), [state]), INT(11))
        return make.fmul(make.uitofp(bits, DOUBLE), DOUBLE(UNIT))

    return own_function(module, "draw_unit", DOUBLE, [ADDRESS], body)


def _next(module: Any) -> Any:
    """The function that returns the next word."""

    def body(make: Any, state: Any) -> Any:
        generator = make.bitcast(state, GENERATOR.as_pointer())
        used = _part(make, generator, USED)
        is_spent = make.icmp_unsigned("==", make.load(used), INT(SIZE))
        with make.if_then(is_spent):
            _new_block(make, generator)
            make.store(INT(0), used)
        k = make.load(used)
        make.store(make.add(k, INT(1)), used)
        return make.load(_part(make, generator, make.add(k, INT(BLOCK))))

    return own_function(module, "draw_next", INT, [ADDRESS], body)


def _next_half(module: Any) -> Any:
    """The function that returns the next half of a word, the lower one first."""

    def body(make: Any, state: Any) -> Any:
        generator = make.bitcast(state, GENERATOR.as_pointer())
        is_half, halved = [_part(make, generator, k) for k in (IS_HALF, HALVED)]
        waits = make.trunc(make.load(is_half), BIT)
        with make.if_then(make.not_(waits)):
            make.store(make.call(_next(module), [state]), halved)
        make.store(make.zext(make.not_(waits), INT), is_half)
        word = make.load(halved)
        high = make.lshr(word, INT(32))
        return make.trunc(make.select(waits, high, word), WORD)

    return own_function(module, "draw_next_half", WORD, [ADDRESS], body)


def _new_block(make: Any, generator: Any) -> None:
    """Emits Philox on the next block count."""
    blocks = _part(make, generator, BLOCKS)
    count = make.add(make.load(blocks), INT(1))
    make.store(count, blocks)
    block = [count, *[INT(0)] * (SIZE - 1)]
    key = [make.load(_part(make, generator, KEY + k)) for k in range(2)]
    for n in range(ROUNDS):
        if n:
            key = [make.add(k, INT(g)) for k, g in zip(key, GROWTH, strict=True)]
        (high, low), (up, down) = [
            _product(make, block[2 * k], factor) for k, factor in enumerate(FACTORS)
        ]
        first = make.xor(make.xor(up, block[1]), key[0])
        block = [first, down, make.xor(make.xor(high, block[3]), key[1]), low]
    for k, word in enumerate(block):
        make.store(word, _part(make, generator, BLOCK + k))


def _product(make: Any, word: Any, factor: int) -> tuple[Any, Any]:
    """The high and the low word of a product."""
    whole = make.mul(make.zext(word, WIDE), WIDE(factor))
    return make.trunc(make.lshr(whole, WIDE(64)), INT), make.trunc(whole, INT)


def _begin(module: Any) -> Any:
    """The function that starts a generator from a seed and the number of a draw."""

    def body(make: Any, generator: Any, seed: Any, number: Any) -> None:
        for k, word in enumerate(_key(make, seed, number)):
            make.store(word, _part(make, generator, KEY + k))
        for k in (BLOCKS, IS_HALF):
            make.store(INT(0), _part(make, generator, k))
        make.store(INT(SIZE), _part(make, generator, USED))

    kinds = [GENERATOR.as_pointer(), INT, INT]
    return own_function(module, "draw_begin", NOTHING, kinds, body)


def _key(make: Any, seed: Any, number: Any) -> list[Any]:
    """Emits the key that a seed sequence makes of two numbers that aren't negative. Each is one
    word of 32 bits if it fits, otherwise two."""
    half, none = INT(32), WORD(0)
    low, high, first, second = [
        make.trunc(part, WORD) for n in (seed, number) for part in (n, make.lshr(n, half))
    ]
    is_short = make.icmp_unsigned("==", high, none)
    pairs = zip((low, first, second, none), (low, high, first, second), strict=True)
    entropy = [make.select(is_short, a, b) for a, b in pairs]
    hashed = _hash(make, *IN)
    pool = list(map(hashed, entropy))
    for source in range(4):
        for to in range(4):
            if to != source:
                pool[to] = _mixed(make, pool[to], hashed(pool[source]))
    words = [make.zext(word, INT) for word in map(_hash(make, *OUT), pool)]
    return [make.or_(a, make.shl(b, half)) for a, b in list(pairwise(words))[::2]]


def _hash(make: Any, constant: int, factor: int) -> Callable[[Any], Any]:
    """A function that emits the hashes of words, one after another."""
    state = constant

    def hashed(word: Any) -> Any:
        nonlocal state
        word = make.xor(word, WORD(state))
        state = state * factor % 2**32
        return _folded(make, make.mul(word, WORD(state)))

    return hashed


def _mixed(make: Any, left: Any, right: Any) -> Any:
    left, right = [
        make.mul(word, WORD(factor)) for word, factor in ((left, MIX_LEFT), (right, MIX_RIGHT))
    ]
    return _folded(make, make.sub(left, right))


def _folded(make: Any, word: Any) -> Any:
    return make.xor(word, make.lshr(word, WORD(16)))


def _part(make: Any, array: Any, k: Any) -> Any:
    """The address of an element of an array."""
    k = INT(k) if isinstance(k, int) else k
    return make.gep(array, [INT(0), k], inbounds=True)
