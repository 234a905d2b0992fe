// Arithmetic mod n^2 on pairs: x = x0 + x1 n, both below n, standing for x R mod n^2.
//
// A product of pairs a and b, divided by R: choose m in [0, R) with a0 b0 + m n = R u, then
//     a b = R u + (a0 b1 + a1 b0 - m) n   (mod n^2),
// so a b / R = u + v n with v = (a0 b1 + a1 b0 - m) / R mod n. Where u >= n, n is taken off u and 1 added to
// v. To stay above zero v is computed of T = a0 b1 + a1 b0 + (R - m), at least 1, as V - 1 with V = (T + m'
// n) / R >= 1. The two corrections of v make one: v = V - 1 + carry, carry = 1 exactly where u >= n.
//
// Source: native/src/bigint/montgomery_pairs.hpp, the same algorithm on whole numbers.
#pragma once

#include "montgomery.cuh"

namespace hekat {

// upper = V - 1 + carry mod n, V + 2^(32 kWords) high below 3n; below 2n where `below_two`.
template <bool below_two>
HEKAT_DEVICE void correct_upper(Lane* upper, const Lane* v, u32 high, u32 carry, const Reduction& n) {
    // s = V - 1 + carry - n in [-n, 2n), from V - n = V + (R - 1 - n) + 1 - R.
    Lane s[kLimbs];
    const u32 s_high = high - 1 + add(s, v, n.minus_modulus, carry);
    const u32 is_below = s_high >> 31;
    Lane next[kLimbs];
    if (below_two) {
        add(next, s, n.modulus, 0);
        select_number(upper, is_below, next, s);
        return;
    }
    // n goes back on where s is negative, and off where it is not; then s stays where that is negative.
    Lane change[kLimbs];
    select_number(change, is_below, n.modulus, n.minus_modulus);
    const u32 next_high = s_high - (1 - is_below) + add(next, s, change, 1 - is_below);
    select_number(upper, next_high >> 31, s, next);
}

// Fills an accumulator with R - m as ~m + 1: the 1 stands where the next row adds it to the lowest column.
HEKAT_DEVICE void begin_with_negative(Accumulator& sum, const Lane* m) {
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
        sum.even[i] = ~m[i];
        sum.odd[i] = 0;
    }
    sum.odd[1] = is_equal(thread_index(), 0);
    sum.top = 0;
}

// z = (a0 + a1 n) (lower_factor + upper_factor n) / R, all below n; where not is_pair, a is a number a0
// alone, any below R. z may be any of them.
template <bool is_pair>
HEKAT_DEVICE void multiply_halves(Lane* z, const Lane* a, const Lane* lower_factor, const Lane* upper_factor,
                                  const Reduction& n) {
    Lane lower[kLimbs];
    Lane m[kLimbs];
    clear_number(m);
    const u32 lower_high = multiply_and_divide(lower, m, a, lower_factor, n);
    Accumulator sum;
    begin_with_negative(sum, m);
#pragma unroll 1
    for (u32 source = 0; source < kThreads; ++source) {
#pragma unroll
        for (int i = 0; i < kLimbs; i += 2) {
            begin_row(sum.even, sum.odd, sum.top, a, broadcast(upper_factor[i], source));
            if (is_pair) add_row(sum.even, sum.odd, sum.top, a + kLimbs, broadcast(lower_factor[i], source));
            reduce_row(sum.even, sum.odd, sum.top, n);
            begin_row(sum.odd, sum.even, sum.top, a, broadcast(upper_factor[i + 1], source));
            if (is_pair)
                add_row(sum.odd, sum.even, sum.top, a + kLimbs, broadcast(lower_factor[i + 1], source));
            reduce_row(sum.odd, sum.even, sum.top, n);
        }
    }
    Lane v[kLimbs];
    const u32 high = finish_rows(v, sum);
    const u32 carry = subtract_once(z, lower, lower_high, n.minus_modulus);
    // Of pairs a0 b1 + a1 b0 <= 2 (n-1)^2, so V <= (2 (n-1)^2 + R + (R-1) n) / R < 3n; of a number
    // a0 b1 <= (R-1)(n-1), so V <= ((R-1)(n-1) + R + (R-1) n) / R < 2n.
    correct_upper<!is_pair>(z + kLimbs, v, high, carry, n);
}

// z = a b / R for pairs. z may be a or b.
HEKAT_DEVICE void multiply_pairs(Lane* z, const Lane* a, const Lane* b, const Reduction& n) {
    multiply_halves<true>(z, a, b, b + kLimbs, n);
}

// z = number (lower_factor + upper_factor n) / R, for any number below R.
HEKAT_DEVICE void multiply_by_number(Lane* z, const Lane* number, const Lane* lower_factor,
                                     const Lane* upper_factor, const Reduction& n) {
    multiply_halves<false>(z, number, lower_factor, upper_factor, n);
}

// z = a a / R: the two products of the upper half are one, of a0 and 2 a1 mod n.
HEKAT_DEVICE void square_pair(Lane* z, const Lane* a, const Reduction& n) {
    Lane doubled[kLimbs];
    const u32 high = add(doubled, a + kLimbs, a + kLimbs, 0);
    subtract_once(doubled, doubled, high, n.minus_modulus);
    multiply_by_number(z, a, a, doubled, n);
}

// z = a + b mod n^2. z may be a or b.
HEKAT_DEVICE void add_pairs(Lane* z, const Lane* a, const Lane* b, const Reduction& n) {
    const u32 lower_high = add(z, a, b, 0);
    const u32 carry = subtract_once(z, z, lower_high, n.minus_modulus);
    // At most 2 (n-1) + 1, below 2n.
    const u32 upper_high = add(z + kLimbs, a + kLimbs, b + kLimbs, carry);
    subtract_once(z + kLimbs, z + kLimbs, upper_high, n.minus_modulus);
}

}  // namespace hekat
