// Powers of one residue: constant time by fixed windows, variable time by sliding ones.
#pragma once

#include "bigint/residue_ring.hpp"

namespace hekat {

// `width` bits of the exponent from bit `bit` on; bits beyond its limbs read as 0. width in 1..16.
Limb exponent_bits_at(const Limb* exponent, std::size_t limb_count, std::size_t bit, unsigned width);

// The window width that makes powers by exponents of `bits` bits cheapest. In 1..6.
unsigned power_window_bits(std::size_t bits);

// Limbs of scratch that `power` and `power_vartime` need for exponents of exponent_limbs limbs.
std::size_t power_scratch_count(const ResidueRing& modulus, std::size_t exponent_limbs);

// z = base^exponent, Montgomery forms below n of width() limbs; 0^0 = 1. z may be base.
// Constant time: works through all 64 * exponent_limbs bits, tables read whole. The caller wipes scratch.
void power(const ResidueRing& modulus, Limb* z, const Limb* base, const Limb* exponent,
           std::size_t exponent_limbs, Limb* scratch);

// The same power; its time tells the exponent.
void power_vartime(const ResidueRing& modulus, Limb* z, const Limb* base, const Limb* exponent,
                   std::size_t exponent_limbs, Limb* scratch);

}  // namespace hekat
