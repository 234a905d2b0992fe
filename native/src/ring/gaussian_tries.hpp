// Tries for numbers of a discrete Gaussian in lanes, but for the look at the table and the closing up, which
// each path does in its own way.
//
// Words and Numbers are vectors of as many words and doubles. Truths are sign bits.
#pragma once

#include "ring/kernels.hpp"

namespace hekat::ring {

// The chance to keep, exp(-r) with r = t (t + 2 z) / (2 s0^2) and t = y / 2^k, in units of 2^-52; z is below
// 40, r below 6.
//
// t and t + 2 z are exact, three roundings make r, whose relative error of 3 2^-53 is one of 1.2 2^-53 in
// exp(-r), as r exp(-r) <= 0.37. n ln 2 is taken off in two parts, the first exact. The series ends with an
// error of 2^-52 for |f| <= ln 2 / 2, Horner's roundings make less than 2^-51, and the sum with 1 rounds to
// 2^-53. All together stays below 2^-49; kGaussianMargin is eight times that.
template <typename Words, typename Numbers>
[[gnu::always_inline]] inline void find_chances(Words& chances, const Words& y, const Words& z,
                                                const GaussianLaw& law) {
    constexpr double kWhole = 0x1p52;  // plus an integer below 2^52: the integer in its lower bits
    constexpr double kNearest = 0x1.8p52;
    constexpr double kLog2OfE = 0x1.71547652b82fep0;
    constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits
    constexpr double kLn2Low = 0x1.ef35793c76730p-45;
    constexpr double kInverseFactorials[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
    const Words whole = (Words)(Numbers{} + kWhole);
    const Numbers t = ((Numbers)(y | whole) - kWhole) * law.step;
    const Numbers twice_z = (Numbers)((z + z) | whole) - kWhole;
    const Numbers r = t * (t + twice_z) * law.scale;
    const Numbers shifted = r * kLog2OfE + kNearest;
    const Numbers n = shifted - kNearest;
    const Numbers f = (n * kLn2High - r) + n * kLn2Low;
    Numbers sum = Numbers{} + kInverseFactorials[0];
#pragma GCC unroll 12
    for (unsigned i = 1; i < 13; ++i) sum = sum * f + kInverseFactorials[i];
    const Numbers chance = (Numbers)((Words)sum - ((Words)shifted << 52));
    const Numbers one = Numbers{} + 1.0;
    // A double from 1 to 2 is its bits: a chance of 1 carries into the exponent.
    chances = (Words)(chance + one) - (Words)one;
}

// Of the words u, v, r: x, in two's complement, and whether it is kept and whether V's digits leave that
// open. z is the look at the table.
template <typename Words>
struct Tries {
    Words x;
    Words is_kept;
    Words is_open;
};

template <typename Words, typename Numbers>
[[gnu::always_inline]] inline void finish_tries(Tries<Words>& tries, const Words& z, const Words& v,
                                                const Words& r, const GaussianLaw& law) {
    const Words y = r & ((Limb{1} << law.doublings) - 1);
    const Words x = (z << law.doublings) + y;
    Words chances;
    find_chances<Words, Numbers>(chances, y, z, law);
    const Words beyond = (v >> 12) - chances;
    const Words sign = r >> 63;
    const Words is_negative_zero = (x - 1) & r;
    tries.x = (x ^ (Words{} - sign)) + sign;
    tries.is_kept = beyond & ~((law.limit - x) | is_negative_zero);
    tries.is_open = ~((beyond + law.margin) | (law.margin - beyond));
}

}  // namespace hekat::ring
