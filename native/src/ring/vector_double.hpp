// Integers mod q of up to 100 bits, eight at a time, as two words of 52 bits each.
#pragma once

#include "ring/mask_format.hpp"
#include "ring/vector_prime.hpp"

namespace hekat::ring::vectors {

typedef std::int64_t SignedVector __attribute__((vector_size(64)));

HEKAT_IFMA_INLINE SignedVector signed_of(Vector x) { return reinterpret_cast<SignedVector>(x); }

// low + 2^52 high. "Loose": low may be anything, signed, that its sums left.
struct Double {
    Vector low;
    Vector high;
};

HEKAT_IFMA_INLINE Double spread_wide(Wide x) {
    return {spread(low_limb(x) & kMask52), spread(low_limb(x >> 52))};
}
HEKAT_IFMA_INLINE Double operator+(Double x, Double y) { return {x.low + y.low, x.high + y.high}; }
HEKAT_IFMA_INLINE Double operator-(Double x, Double y) { return {x.low - y.low, x.high - y.high}; }

// low in [0, 2^52), high signed.
HEKAT_IFMA_INLINE Double carry(Double x) {
    return {x.low & spread(kMask52), x.high + reinterpret_cast<Vector>(signed_of(x.low) >> 52)};
}

// The lanes in which a carried double is negative.
HEKAT_IFMA_INLINE __mmask8 negative_lanes(Double x) { return _mm512_movepi64_mask(bits_of(x.high)); }

// x + m in the chosen lanes, x in the others.
HEKAT_IFMA_INLINE Double add_in(__mmask8 chosen, Double x, Double m) {
    return {vector_of(_mm512_mask_add_epi64(bits_of(x.low), chosen, bits_of(x.low), bits_of(m.low))),
            vector_of(_mm512_mask_add_epi64(bits_of(x.high), chosen, bits_of(x.high), bits_of(m.high)))};
}

// From [-m, m) to [0, m), loose.
HEKAT_IFMA_INLINE Double add_if_negative(Double x, Double m) { return add_in(negative_lanes(x), x, m); }

// From [-m, 3 m / 2) to [-m, m / 2), loose; minus_m is -m.
HEKAT_IFMA_INLINE Double subtract_unless_negative(Double x, Double minus_m) {
    return add_in(static_cast<__mmask8>(~negative_lanes(x)), x, minus_m);
}

HEKAT_IFMA_INLINE Double load_double(const Limb* const* rows, std::size_t i) {
    return {load(rows[0], i), load(rows[1], i)};
}
HEKAT_IFMA_INLINE void store_double(Limb* const* rows, std::size_t i, Double x) {
    store(rows[0], i, x.low);
    store(rows[1], i, x.high);
}

// Two primes' residues to the integers in [0, q) that have them, as doubles, in place. stride: a multiple
// of 8.
//
// Work on doubles is cut into passes over a piece: a processor looks ahead from one short chain of
// instructions to the next, but not beyond a long one.
void compose(Limb* const* rows, std::size_t stride, const MaskFormat& form);

}  // namespace hekat::ring::vectors
