// Products modulo an odd n of kWords words, divided by R = 2^(32 kWords).
#pragma once

#include "rows.cuh"

namespace hekat {

// What products need of n, in registers.
struct Reduction {
    Lane modulus[kLimbs];
    Lane minus_modulus[kLimbs];  // R - 1 - n
    u32 negated_inverse;         // -1/n mod 2^32
};

HEKAT_DEVICE void set_reduction(Reduction& n, const u32* modulus) {
    load_limbs(n.modulus, modulus);
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) n.minus_modulus[i] = ~n.modulus[i];
    // Newton's steps double the bits that are right: 3, 6, 12, 24, 48.
    const u32 lowest = modulus[0];
    u32 inverse = lowest;
    for (int i = 0; i < 4; ++i) inverse *= 2 - lowest * inverse;
    n.negated_inverse = 0 - inverse;
}

// Adds m n to a row, so that its lowest word becomes 0; returns m, the word of the quotient.
HEKAT_DEVICE Lane reduce_row(Lane* even, Lane* odd, Lane& top, const Reduction& n) {
    const Lane m = broadcast(even[0] * n.negated_inverse, 0);
    add_row(even, odd, top, n.modulus, m);
    return m;
}

// z + 2^(32 kWords) high = (a b + m n) / R, below 2n where a < R and b < n; returns high. `quotient` becomes
// m.
HEKAT_DEVICE u32 multiply_and_divide(Lane* z, Lane* quotient, const Lane* a, const Lane* b,
                                     const Reduction& n) {
    Accumulator sum;
    clear(sum);
#pragma unroll 1
    for (u32 source = 0; source < kThreads; ++source) {
        const Lane is_source = is_equal(thread_index(), source);
#pragma unroll
        for (int i = 0; i < kLimbs; i += 2) {
            begin_row(sum.even, sum.odd, sum.top, a, broadcast(b[i], source));
            const Lane lower = reduce_row(sum.even, sum.odd, sum.top, n);
            quotient[i] = select(is_source, lower, quotient[i]);
            begin_row(sum.odd, sum.even, sum.top, a, broadcast(b[i + 1], source));
            const Lane upper = reduce_row(sum.odd, sum.even, sum.top, n);
            quotient[i + 1] = select(is_source, upper, quotient[i + 1]);
        }
    }
    return finish_rows(z, sum);
}

// z = a b / R mod n, for a < R and b < n. z may be a or b.
HEKAT_DEVICE void multiply_numbers(Lane* z, const Lane* a, const Lane* b, const Reduction& n) {
    Lane quotient[kLimbs];
    clear_number(quotient);
    const u32 high = multiply_and_divide(z, quotient, a, b, n);
    subtract_once(z, z, high, n.minus_modulus);
}

}  // namespace hekat
