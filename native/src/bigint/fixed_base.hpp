// Powers of one base from a table of all its windows: products only, no squarings.
#pragma once

#include "bigint/checkpoint.hpp"
#include "bigint/residue_ring.hpp"

namespace hekat {

// The widest exponents that a table may be for: their tables' sizes fit 64 bits with any window.
inline constexpr std::size_t kMaxTableExponentBits = std::size_t{1} << 20;

// What a table holds: entry (i, j) is base^(j 2^(window_bits i)), i < positions(), j < entry_count(). A
// constant-time table has the ring's layout for shared look-ups at each position; any other has rows,
// position by position. Entries of a factored table are factors: of a ring that has them, and of a base that
// has an inverse.
struct FixedBaseShape {
    std::size_t exponent_bits;  // 1..kMaxTableExponentBits
    unsigned window_bits;       // 1..16
    bool constant_time;
    bool factored = false;

    std::size_t positions() const { return (exponent_bits + window_bits - 1) / window_bits; }
    std::size_t entry_count() const { return std::size_t{1} << window_bits; }
    std::size_t position_words(const ResidueRing& ring) const {
        return constant_time ? ring.shared_table_words(entry_count()) : entry_count() * ring.row_limbs();
    }
    std::size_t table_words(const ResidueRing& ring) const { return positions() * position_words(ring); }
};

// The window of a constant-time table beyond which reading a position whole costs more than the products it
// saves. In 4..8.
unsigned fixed_base_window_bits(const ResidueRing& ring);
// Products of a power that take as long as to make one entry.
double fixed_base_entry_products(const ResidueRing& ring);

// The entries of up to lanes() positions from first_position on, from those positions' bases, rows one after
// another, and for a factored table these bases' inverses. table: the whole table. Constant time. The caller
// wipes scratch: fill_positions_scratch_count words.
void fill_positions(const ResidueRing& ring, const FixedBaseShape& shape, Limb* table,
                    std::size_t first_position, const Limb* bases, const Limb* inverses, Limb* scratch,
                    Checkpoint checkpoint);
std::size_t fill_positions_scratch_count(const ResidueRing& ring);

// z (count rows) = base^exponent for each of count exponents below 2^exponent_bits, which lie one after
// another. Constant time: every entry of every position is read. One position serves all exponents before the
// next is touched, so that its entries stay in cache. Calls checkpoint once a position. The caller wipes
// scratch: fixed_base_scratch_count words. Source: Brickell, Gordon, McCurley, Wilson, Fast exponentiation
// with precomputation (Eurocrypt 1992).
void fixed_base_powers(const ResidueRing& ring, const FixedBaseShape& shape, Limb* z, const Limb* table,
                       const Limb* exponents, std::size_t exponent_limbs, std::size_t count, Limb* scratch,
                       Checkpoint checkpoint);
std::size_t fixed_base_scratch_count(const ResidueRing& ring, std::size_t count);

// The same from a table that is not constant_time: reads the entries it needs, so that memory access tells
// the exponents.
void fixed_base_powers_vartime(const ResidueRing& ring, const FixedBaseShape& shape, Limb* z,
                               const Limb* table, const Limb* exponents, std::size_t exponent_limbs,
                               std::size_t count, Limb* scratch, Checkpoint checkpoint);

}  // namespace hekat
