// Arithmetic modulo a prime below 2^50 on eight residues, with factors of 52 bits.
#pragma once

#include "bigint/vector.hpp"
#include "ring/prime.hpp"

namespace hekat::ring::vectors {

using vector::add_high;
using vector::add_low;
using vector::load;
using vector::spread;
using vector::store;
using vector::Vector;

inline constexpr Limb kMask52 = (Limb{1} << 52) - 1;

// The intrinsics that take a mask, with this one: what leaves lanes undefined makes compilers warn.
inline constexpr __mmask8 kAllWords = 0xff;

HEKAT_IFMA_INLINE __m512i bits_of(Vector x) { return reinterpret_cast<__m512i>(x); }
HEKAT_IFMA_INLINE Vector vector_of(__m512i x) { return reinterpret_cast<Vector>(x); }

HEKAT_IFMA_INLINE Vector least(Vector x, Vector y) {
    return vector_of(_mm512_maskz_min_epu64(kAllWords, bits_of(x), bits_of(y)));
}

// x - m where x >= m, else x.
HEKAT_IFMA_INLINE Vector reduce_once(Vector x, Vector m) { return least(x, x - m); }

// In all lanes.
struct VectorPrime {
    HEKAT_IFMA_INLINE explicit VectorPrime(const Prime& prime)
        : p(spread(prime.value)),
          twice(spread(2 * prime.value)),
          negative(spread((Limb{1} << 52) - prime.value)),
          mask(spread(kMask52)) {}

    Vector p;
    Vector twice;
    Vector negative;  // 2^52 - p
    Vector mask;
};

// x w, below 2 p, for x below 2^52. A lane's bits above those 52 are not looked at.
HEKAT_IFMA_INLINE Vector multiply_by(Vector x, Vector w, Vector quotient, const VectorPrime& prime) {
    const Vector estimate = add_high(Vector{}, x, quotient);
    return add_low(add_low(Vector{}, x, w), estimate, prime.negative) & prime.mask;
}
HEKAT_IFMA_INLINE Vector multiply_by(Vector x, const Factor& factor, const VectorPrime& prime) {
    return multiply_by(x, spread(factor.value), spread(factor.quotient), prime);
}

}  // namespace hekat::ring::vectors
