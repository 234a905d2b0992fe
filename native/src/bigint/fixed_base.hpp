// Powers of one base from a table of all its windows: products only, no squarings.
#pragma once

#include "bigint/residue_ring.hpp"

namespace hekat {

// What a table holds: entry (i, j) is base^(j 2^(window_bits i)) in Montgomery form, modulus.limb_count()
// limbs.
struct FixedBaseShape {
    std::size_t exponent_bits;
    unsigned window_bits;

    std::size_t positions() const { return (exponent_bits + window_bits - 1) / window_bits; }
    std::size_t entry_count() const { return std::size_t{1} << window_bits; }
};

// The window that makes powers cheapest on the whole, the table's own making counted in. In 4..7.
unsigned fixed_base_window_bits(std::size_t limb_count);

// z = base^(2^(window_bits)) for the step from one position's base to the next; width() limbs, z may be base.
void next_position_base(const ResidueRing& modulus, unsigned window_bits, Limb* z, const Limb* base,
                        Limb* scratch);

// One position's entries from that position's base (width() limbs). scratch: scratch_count() + width() limbs.
void fill_position(const ResidueRing& modulus, const FixedBaseShape& shape, Limb* entries, const Limb* base,
                   Limb* scratch);

// Limbs of scratch that `fixed_base_powers` needs for `count` exponents.
std::size_t fixed_base_scratch_count(const ResidueRing& modulus, std::size_t count);

// z (count x limb_count limbs) = base^exponent for each of count exponents below 2^exponent_bits, Montgomery
// form. Constant time: every entry of every position is read. One position serves all exponents before the
// next is touched, so that its entries stay in cache. The caller wipes scratch. Source: Brickell, Gordon,
// McCurley, Wilson, Fast exponentiation with precomputation (Eurocrypt 1992).
void fixed_base_powers(const ResidueRing& modulus, const FixedBaseShape& shape, Limb* z, const Limb* table,
                       const Limb* exponents, std::size_t exponent_limbs, std::size_t count, Limb* scratch);

}  // namespace hekat
