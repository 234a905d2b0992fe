// Sums by digit of neighbouring coefficients, eight at a time, and the first coefficients of an inverse
// transform.
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

template <std::size_t vectors>
HEKAT_IFMA void add_wide(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count) {
    constexpr std::int32_t kLow = 8 * vectors - 1;
    for (std::size_t n = 0; n < count; ++n, row += 8 * vectors) {
        const std::int32_t digit = digits[n];
        if (digit < 0) continue;
        const Limb* const from = row - (digit & kLow);
        Limb* const to = sums + (digit & ~kLow);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < vectors; ++v) store(to, v, load(to, v) + load(from, v));
    }
}

// Loops of a known length become vectors of it.
template <std::size_t window>
HEKAT_IFMA void add_narrow(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count) {
    constexpr std::int32_t kLow = window - 1;
    for (std::size_t n = 0; n < count; ++n, row += window) {
        const std::int32_t digit = digits[n];
        if (digit < 0) continue;
        const Limb* const from = row - (digit & kLow);
        Limb* const to = sums + (digit & ~kLow);
        for (std::size_t i = 0; i < window; ++i) to[i] += from[i];
    }
}

HEKAT_IFMA void add_widest(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count,
                           std::size_t window) {
    const auto low = static_cast<std::int32_t>(window - 1);
    for (std::size_t n = 0; n < count; ++n, row += window) {
        const std::int32_t digit = digits[n];
        if (digit < 0) continue;
        const Limb* const from = row - (digit & low);
        Limb* const to = sums + (digit & ~low);
        for (std::size_t v = 0; v < window / 8; ++v) store(to, v, load(to, v) + load(from, v));
    }
}

}  // namespace

HEKAT_IFMA void add_windows(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count,
                            std::size_t window) {
    switch (window) {
        case 1:
            return add_narrow<1>(sums, row, digits, count);
        case 2:
            return add_narrow<2>(sums, row, digits, count);
        case 4:
            return add_narrow<4>(sums, row, digits, count);
        case 8:
            return add_wide<1>(sums, row, digits, count);
        case 16:
            return add_wide<2>(sums, row, digits, count);
        case 32:
            return add_wide<4>(sums, row, digits, count);
        default:
            return add_widest(sums, row, digits, count, window);
    }
}

// The quotient's estimate loses less than 2^(bits - 1) / p where x is shifted, 2^-9 by the reciprocal, and 1
// where it is rounded down: below p + 2^(bits - 1) + p / 2^9 are left.
HEKAT_IFMA void reduce(Limb* z, std::size_t count, const Prime& tables) {
    const VectorPrime prime(tables);
    const Vector reciprocal = spread(tables.reciprocal);
    const unsigned shift = tables.bits - 1;
    for (std::size_t v = 0; v < count / 8; ++v) {
        const Vector x = load(z, v);
        const Vector quotient = add_high(Vector{}, x >> shift, reciprocal);
        const Vector left = add_low(x, quotient, prime.negative) & prime.mask;
        store(z, v, reduce_once(reduce_once(left, prime.twice), prime.p));
    }
}

}  // namespace hekat::ring::vectors
