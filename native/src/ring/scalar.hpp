// Arithmetic modulo a prime below 2^50 on one residue, without branches; factors of 64 bits.
#pragma once

#include "bigint/limb.hpp"
#include "ring/prime.hpp"

namespace hekat::ring::portable {

// x - m where x >= m, else x. x < 2^63, m < 2^63.
inline Limb reduce_once(Limb x, Limb m) {
    const Limb difference = x - m;
    return difference + (m & mask_of_bit(difference >> 63));
}

// x w, below 2 p, for any x.
inline Limb multiply_by(Limb x, Limb w, Limb quotient, Limb p) {
    return x * w - high_limb(Wide{x} * quotient) * p;
}
inline Limb multiply_by(Limb x, const Factor& factor, Limb p) {
    return multiply_by(x, factor.value, factor.quotient, p);
}

}  // namespace hekat::ring::portable
