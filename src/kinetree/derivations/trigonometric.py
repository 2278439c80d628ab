"""Polynomials in sines and cosines of joint angles, and the shortest way to write them down.

Entries of equations of motion are polynomials in cos(q_i), sin(q_i), sliding coordinates, rates and model
parameters. They are kept as elements of SymPy's sparse polynomial rings with cos(q_i) and sin(q_i) as
unknowns: sums and products are exact and fast, and what cancels is gone. Needs the extra ``symbolic``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from typing import Any, NamedTuple

import sympy
from sympy.polys.rings import PolyRing

NEGLIGIBLE = 1e-13  # of the largest coefficient: what rounded rotation matrices leave of terms that cancel
LARGEST_MULTIPLE = 4  # a common factor is taken out if it leaves integers up to this one
WORTH_WRITING = 1.3  # forms with this many times the fewest terms are not written out for comparison
Form = list[tuple[Any, Any]]  # functions of angles with their coefficients
Harmonics = dict[tuple[bool, tuple[int, ...]], Any]  # (sine?, multiples of the angles): coefficient


class Angle:
    """A joint angle of which only sine and cosine are known, as elements of a ring."""

    def __init__(self, sine: Any, cosine: Any) -> None:
        self._sine, self._cosine = sine, cosine

    def sin(self) -> Any:
        """Sine."""
        return self._sine

    def cos(self) -> Any:
        """Cosine."""
        return self._cosine


class Follows(NamedTuple):
    """An angle about the same direction as an earlier one: their sum (or difference) is an angle too."""

    before: int
    sign: int


class TrigonometricRing:
    """Polynomials with rational coefficients in sines and cosines of angles, and in other symbols.

    ``follows[k]`` names the angle that angle k continues, if its axis is parallel to that of the link before.
    """

    def __init__(
        self, angles: Sequence[Any], others: Sequence[Any], follows: Sequence[Follows | None] = ()
    ) -> None:
        self.angles, self.others, self.follows = list(angles), list(others), list(follows)
        self.n = len(self.angles)
        unknowns = [sympy.Dummy(f"{function}{k}") for k in range(self.n) for function in ("sin", "cos")]
        self.ring = PolyRing([*unknowns, *self.others], sympy.QQ)

    def angle(self, k: int) -> Angle:
        """Angle k."""
        return Angle(self.ring.gens[2 * k], self.ring.gens[2 * k + 1])

    def number(self, expression: Any) -> Any:
        """An expression in the other symbols as an element of the ring."""
        return self.ring.from_expr(sympy.sympify(expression))

    def reduced(self, p: Any, *, keep_sines: bool = False) -> Any:
        """The polynomial without squares of sines or, if sines are kept, of cosines."""
        p = self.ring(p)
        for k in range(self.n):
            sine, cosine = 2 * k, 2 * k + 1
            p = _without_squares(p, cosine, sine) if keep_sines else _without_squares(p, sine, cosine)
        return p

    def shortest(self, p: Any, groupings: Iterable[Iterable[Any]], size: float) -> Any:
        """The expression with the fewest operations among those tried.

        For each grouping, terms are collected by their powers of its symbols. Coefficients negligible beside
        ``size`` are rounding errors and left out.
        """
        p = self.reduced(p)
        written = []
        for symbols in groupings:
            places = [2 * self.n + self.others.index(symbol) for symbol in symbols]
            groups = _split(p, places).items()
            terms = [self._powers(key) * self._shortest_trigonometry(part, size) for key, part in groups]
            written.append(sympy.Add(*terms))
        return min(written, key=sympy.count_ops)

    def _shortest_trigonometry(self, p: Any, size: float) -> Any:
        """Multiple angles, products of functions of the angles, or of the sums of parallel ones."""
        harmonics = _harmonics(p, self.n)
        forms = [self._multiple_angles(harmonics), *self._products(p, self.angles)]
        if any(self.follows):
            in_sums = self._polynomial({self._in_sums(key): c for key, c in harmonics.items()})
            forms += self._products(in_sums, self._sums())
        cleaned = [_cleaned(form, NEGLIGIBLE * size) for form in forms]
        lengths = [sum(len(coefficient) for _, coefficient in form) for form in cleaned]
        written = [
            sympy.Add(*(_written(coefficient) * function for function, coefficient in form))
            for form, length in zip(cleaned, lengths, strict=True)
            if length <= WORTH_WRITING * min(lengths)
        ]
        return min(written, key=sympy.count_ops)

    def _multiple_angles(self, harmonics: Harmonics) -> Form:
        form = []
        for (is_sine, multiples), coefficient in harmonics.items():
            angle = sympy.Add(*(k * q for k, q in zip(multiples, self.angles, strict=True)))
            form.append(((sympy.sin if is_sine else sympy.cos)(angle), coefficient))
        return form

    def _products(self, p: Any, angles: Sequence[Any]) -> list[Form]:
        """Two forms: without squares of sines, and without squares of cosines."""
        functions = [function(angle) for angle in angles for function in (sympy.sin, sympy.cos)]
        forms = []
        for keep_sines in (False, True):
            parts = _split(self.reduced(p, keep_sines=keep_sines), range(2 * self.n)).items()
            forms.append(
                [
                    (sympy.Mul(*(f**power for f, power in zip(functions, key, strict=False))), coefficient)
                    for key, coefficient in parts
                ]
            )
        return forms

    def _sums(self) -> list[Any]:
        """Each angle added to those that it continues."""
        sums: list[Any] = []
        for q, previous in zip(self.angles, self.follows, strict=True):
            sums.append(q if previous is None else sums[previous.before] + previous.sign * q)
        return sums

    def _in_sums(self, key: tuple[bool, tuple[int, ...]]) -> tuple[bool, tuple[int, ...]]:
        """Multiples of the angles as multiples of their sums: q_k is plus or minus a difference of sums."""
        multiples = [0] * self.n
        for k, (multiple, previous) in enumerate(zip(key[1], self.follows, strict=True)):
            if previous is None:
                multiples[k] += multiple
            else:
                multiples[k] += previous.sign * multiple
                multiples[previous.before] -= previous.sign * multiple
        return key[0], tuple(multiples)

    def _polynomial(self, harmonics: Harmonics) -> Any:
        """Cosines and sines of multiple angles as polynomials: real and imaginary part of exp(i k.q)."""
        total = self.ring.zero
        for (is_sine, multiples), coefficient in harmonics.items():
            real, imaginary = self.ring.one, self.ring.zero
            for k, multiple in enumerate(multiples):
                s, c = self.ring.gens[2 * k], self.ring.gens[2 * k + 1]
                s = s if multiple > 0 else -s
                for _ in range(abs(multiple)):
                    real, imaginary = real * c - imaginary * s, real * s + imaginary * c
            total = total + coefficient * (imaginary if is_sine else real)
        return total

    def _powers(self, key: tuple[int, ...]) -> Any:
        return sympy.Mul(*(x**power for x, power in zip(self.ring.symbols, key, strict=True)))


def largest_coefficient(polynomials: Iterable[Any]) -> float:
    """The largest absolute value of all coefficients."""
    return max((abs(float(c)) for p in polynomials for c in p.values()), default=0.0)


def _split(p: Any, places: Iterable[int]) -> dict[tuple[int, ...], Any]:
    """The polynomial by powers of the unknowns at some places, each part without them."""
    chosen = set(places)
    parts: dict[tuple[int, ...], Any] = {}
    for powers, coefficient in p.items():
        key = tuple(power if k in chosen else 0 for k, power in enumerate(powers))
        rest = tuple(0 if k in chosen else power for k, power in enumerate(powers))
        parts.setdefault(key, p.ring.zero)[rest] = coefficient
    return parts


def _without_squares(p: Any, removed: int, kept: int) -> Any:
    """Replace x^2 by 1 - y^2, x and y at the given places."""
    result: dict[tuple[int, ...], Any] = {}
    for powers, coefficient in p.items():
        half, odd = divmod(powers[removed], 2)
        for k in range(half + 1):
            new = list(powers)
            new[removed], new[kept] = odd, powers[kept] + 2 * k
            key = tuple(new)
            result[key] = result.get(key, 0) + coefficient * ((-1) ** k * comb(half, k))
    return p.ring.from_dict({key: c for key, c in result.items() if c})


def _harmonics(p: Any, n: int) -> Harmonics:
    """Products of powers of sines and cosines as sums of sines and cosines of multiple angles.

    With cos = (z + 1/z) / 2 and i sin = (z - 1/z) / 2, z = exp(i q): a product with b sines is a real
    polynomial in z and 1/z over i^b, so the cosine (b even) or sine (b odd) of the multiples, up to a sign.
    """
    found: Harmonics = {}
    for powers, coefficient in p.items():
        sines = sum(powers[0 : 2 * n : 2])
        is_sine, sign = sines % 2 == 1, (1, 1, -1, -1)[sines % 4]
        rest = (*([0] * (2 * n)), *powers[2 * n :])
        for multiples, weight in _exponentials(powers[: 2 * n]).items():
            first = next((k for k in multiples if k), 0)
            if first < 0:
                multiples = tuple(-k for k in multiples)
            if is_sine and first == 0:
                continue
            value = coefficient * sympy.QQ(weight * sign * (-1 if is_sine and first < 0 else 1), 1)
            value = value / 2 ** sum(powers[: 2 * n])
            part = found.setdefault((is_sine, multiples), p.ring.zero)
            part[rest] = part.get(rest, sympy.QQ(0)) + value
    for part in found.values():
        part.strip_zero()
    return {key: part for key, part in found.items() if part}


def _exponentials(powers: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Coefficients of the product over k of (z_k - 1/z_k)^powers[2k] (z_k + 1/z_k)^powers[2k + 1]."""
    product: dict[tuple[int, ...], int] = {(): 1}
    for b, a in zip(powers[0::2], powers[1::2], strict=True):
        single: dict[int, int] = {}
        for x in range(b + 1):
            for y in range(a + 1):
                k = a + b - 2 * (x + y)
                single[k] = single.get(k, 0) + (-1) ** x * comb(b, x) * comb(a, y)
        product = {
            (*key, k): c * weight for key, c in product.items() for k, weight in single.items() if weight
        }
    return product


def _cleaned(form: Form, negligible: float) -> Form:
    """The form without coefficients that are rounding errors."""
    cleaned = []
    for function, coefficient in form:
        kept = {key: c for key, c in coefficient.items() if abs(float(c)) > negligible}
        if kept:
            cleaned.append((function, coefficient.ring.from_dict(kept)))
    return cleaned


def _written(coefficient: Any) -> Any:
    """A polynomial without trigonometry: factored where that leaves small integers."""
    if len(coefficient) == 1:
        return coefficient.as_expr()
    content, primitive = coefficient.primitive()
    if max(abs(int(c)) for c in primitive.values()) > LARGEST_MULTIPLE:
        return coefficient.as_expr()
    return sympy.Rational(int(content.numerator), int(content.denominator)) * sympy.factor(
        primitive.as_expr()
    )
