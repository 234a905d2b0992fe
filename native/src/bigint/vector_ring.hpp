// What rings of eight lanes have in common: residues at rest are rows of 52-bit limbs, in work they are
// vector numbers.
#pragma once

#include "bigint/residue_ring.hpp"
#include "bigint/vector_kernels.hpp"

namespace hekat {

// A ring whose residues are `row_limbs` clean limbs.
class VectorRing : public ResidueRing {
  public:
    void gather(Limb* z, const Limb* const* rows) const override;
    void scatter(Limb* const* rows, const Limb* x) const override;
    void select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const override;
    void pick_vartime(Limb* z, const Limb* table, const Limb* indices) const override;
    // As measured: a shared entry is read once for eight lanes, an own one lies in the second cache.
    double shared_entry_ns() const override { return 0.007 * static_cast<double>(row_limbs()); }
    double own_entry_ns() const override { return 0.06 * static_cast<double>(row_limbs()); }
    std::size_t shared_table_words(std::size_t entry_count) const override;
    void put_shared(Limb* table, std::size_t entry_count, std::size_t index, const Limb* row) const override;
    void select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                       std::size_t group_count) const override;

  protected:
    VectorRing(std::size_t limb_count, std::size_t row_limbs)
        : ResidueRing({vector::kLanes, limb_count, row_limbs, vector::kLanes * row_limbs}) {}
};

// The limbs for a modulus of modulus_bits bits whose values come in up to 2 * limb_count 64-bit limbs: as few
// as leave spare_bits above the modulus, and room above it for one more than the digits of the widest value,
// a digit being as many limbs.
struct VectorSize {
    std::size_t limbs;
    std::size_t max_digits;
};
VectorSize vector_size(std::size_t modulus_bits, std::size_t limb_count, unsigned spare_bits);

// Splits eight values of value_limbs 64-bit limbs into digits of `limbs` clean limbs, the lowest first, and
// transposes digit i into z + i * kLanes * limbs. rows: kLanes * digit_count * limbs words of scratch.
void split_into_digits(Limb* z, const Limb* const* values, std::size_t value_limbs, std::size_t limbs,
                       std::size_t digit_count, Limb* rows);

// values (limb_count 64-bit limbs each, nullptr: skipped) = the lanes of x, `limbs` clean limbs. rows: kLanes
// * limbs words of scratch.
void join_lanes(Limb* const* values, std::size_t limb_count, const Limb* x, std::size_t limbs, Limb* rows);

// -n^-1 mod 2^52 for odd n.
Limb negative_inverse52(Limb n);

}  // namespace hekat
