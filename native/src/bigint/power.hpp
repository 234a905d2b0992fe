// Powers of a group of residues: constant time by fixed windows, variable time by sliding ones.
#pragma once

#include "bigint/checkpoint.hpp"
#include "bigint/residue_ring.hpp"

namespace hekat {

// `width` bits of the exponent from bit `bit` on; bits beyond its limbs read as 0. width in 1..16.
Limb exponent_bits_at(const Limb* exponent, std::size_t limb_count, std::size_t bit, unsigned width);

// The window width that makes powers by exponents of `bits` bits cheapest where each entry of a table that is
// read past costs as much as entry_products products. In 1..6; never wider for fewer bits or a higher cost.
unsigned power_window_bits(std::size_t bits, double entry_products);

// Words of scratch that `power` and `power_vartime` need for exponents of exponent_limbs limbs.
std::size_t power_scratch_count(const ResidueRing& ring, std::size_t exponent_limbs);

// z = base^exponent lane by lane, groups in work; 0^0 = 1. exponents: lanes() pointers to exponent_limbs
// limbs each. z may be base. Constant time: works through all 64 * exponent_limbs bits, tables read whole.
// Calls checkpoint once a window. The caller wipes scratch.
void power(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* const* exponents,
           std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint);

// The same powers; their time and the calls of checkpoint tell the exponents. Least work where all lanes have
// one exponent.
void power_vartime(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* const* exponents,
                   std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint);

}  // namespace hekat
