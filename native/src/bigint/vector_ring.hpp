// What rings of eight lanes have in common: residues at rest are rows of 52-bit limbs, in work they are
// vector numbers.
#pragma once

#include "bigint/residue_ring.hpp"
#include "bigint/secret_buffer.hpp"
#include "bigint/vector_kernels.hpp"

namespace hekat {

// The limbs for a modulus of modulus_bits bits whose values come in up to 2 * limb_count 64-bit limbs: as few
// as leave spare_bits above the modulus, and room above it for one more than the digits of the widest value,
// a digit being as many limbs.
struct VectorSize {
    std::size_t limbs;
    std::size_t max_digits;
};
VectorSize vector_size(std::size_t modulus_bits, std::size_t limb_count, unsigned spare_bits);

// A ring whose residues are `row_limbs` clean limbs, in Montgomery form with R = 2^(52 limbs()).
class VectorRing : public ResidueRing {
  public:
    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const final {
        multiply_and_fetch(z, a, b, scratch, Fetch());
    }
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

    const Limb* one() const override { return power_of_r(1); }
    const Limb* one_row() const override { return one_row_.data(); }

  protected:
    VectorRing(std::size_t limb_count, std::size_t row_limbs, VectorSize size);

    // Of the number whose residues, or pairs of residues, these are.
    std::size_t limbs() const { return size_.limbs; }
    std::size_t max_digits() const { return size_.max_digits; }

    // R^i in all lanes, canonical, i in 1 .. max_digits() + 1.
    const Limb* power_of_r(std::size_t i) const { return powers_of_r_.data() + (i - 1) * width(); }

    // Makes R, and with it one, from the bits of n; needs `double_canonical` alone.
    void fill_first_power_of_r(std::size_t n_bits);
    // Makes the higher powers; needs `multiply` and `square` too.
    void fill_higher_powers_of_r();

    // Roughly, for a product of so many multiply-adds in each lane.
    double product_ns_of(double multiply_adds) const;

  private:
    // z = 2 z for canonical z, canonical.
    virtual void double_canonical(Limb* z, Limb* scratch) const = 0;
    // z = z, canonical, for z as products leave it.
    virtual void make_canonical(Limb* z, Limb* scratch) const = 0;

    VectorSize size_;
    SecretBuffer powers_of_r_;
    SecretBuffer one_row_;
};

// Splits eight values of value_limbs 64-bit limbs into digits of `limbs` clean limbs, the lowest first, and
// transposes digit i into z + i * kLanes * limbs. rows: kLanes * digit_count * limbs words of scratch.
void split_into_digits(Limb* z, const Limb* const* values, std::size_t value_limbs, std::size_t limbs,
                       std::size_t digit_count, Limb* rows);

// values (limb_count 64-bit limbs each, nullptr: skipped) = the lanes of x, `limbs` clean limbs. rows: kLanes
// * limbs words of scratch.
void join_lanes(Limb* const* values, std::size_t limb_count, const Limb* x, std::size_t limbs, Limb* rows);

// z = 2 x for plain numbers.
void twice_plain(Limb* z, const Limb* x, std::size_t limbs);

// -n^-1 mod 2^52 for odd n.
Limb negative_inverse52(Limb n);

}  // namespace hekat
