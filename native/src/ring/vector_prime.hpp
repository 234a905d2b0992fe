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

// Any x below 2^63 and 2^42 p to below p + 2^(bits - 1) + p / 2^9, in its low 52 bits: the quotient's
// estimate loses less than 2^(bits - 1) / p where x is shifted, 2^-9 by the reciprocal, and 1 where it is
// rounded down.
struct Reduction {
    HEKAT_IFMA_INLINE explicit Reduction(const Prime& tables)
        : prime(tables), reciprocal(spread(tables.reciprocal)), shift(tables.bits - 1) {}

    HEKAT_IFMA_INLINE Vector loose(Vector x) const {
        return add_low(x, add_high(Vector{}, x >> shift, reciprocal), prime.negative);
    }
    HEKAT_IFMA_INLINE Vector operator()(Vector x) const { return loose(x) & prime.mask; }
    HEKAT_IFMA_INLINE Vector canonical(Vector x) const {
        return reduce_once(reduce_once((*this)(x), prime.twice), prime.p);
    }
    // Of low + 2^52 high, sums of up to 2^10 lower and upper halves; carry: the factor 2^52.
    HEKAT_IFMA_INLINE Vector canonical(Vector low, Vector high, const Factor& carry) const {
        const Vector upper = (*this)(high + (low >> 52));
        return canonical((low & prime.mask) + multiply_by(upper, carry, prime));
    }

    VectorPrime prime;
    Vector reciprocal;
    unsigned shift;
};

}  // namespace hekat::ring::vectors
