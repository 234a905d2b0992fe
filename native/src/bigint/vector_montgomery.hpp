// Arithmetic modulo one odd n, eight residues at a time, in Montgomery form with R = 2^(52 L) above 4 n.
#pragma once

#include "bigint/secret_buffer.hpp"
#include "bigint/vector_ring.hpp"

namespace hekat {

// A residue x stands as any number below 2 n that is x R mod n: of a and b below 2 n the product's reduction
// is below (4 n^2 + R n) / R < 2 n, so nothing is subtracted between operations. Only canonical values are
// below n.
class VectorMontgomery final : public VectorRing {
  public:
    // n: limb_count limbs, odd, above 1.
    VectorMontgomery(const Limb* n, std::size_t limb_count);

    std::size_t scratch_count() const override { return (4 + 2 * size_.max_digits) * width(); }
    double product_ns() const override;
    const Limb* modulus() const override { return canonical_n_.data(); }
    const Limb* one() const override { return power_of_r(1); }
    const Limb* one_row() const override { return one_row_.data(); }

    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const override;
    void square(Limb* z, const Limb* a, Limb* scratch) const override;
    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;

  private:
    VectorMontgomery(const Limb* n, std::size_t limb_count, VectorSize size);

    std::size_t limbs() const { return size_.limbs; }
    // R^i mod n in all lanes, i in 1 .. max_digits + 1.
    const Limb* power_of_r(std::size_t i) const { return powers_of_r_.data() + (i - 1) * width(); }
    Limb* power_of_r(std::size_t i) { return powers_of_r_.data() + (i - 1) * width(); }
    void fill_powers_of_r(std::size_t modulus_bits);
    // z = 2 z mod n for z below n.
    void double_below_n(Limb* z, Limb* scratch) const;

    VectorSize size_;
    SecretBuffer canonical_n_;
    SecretBuffer n_;        // plain
    SecretBuffer twice_n_;  // plain
    vector::Modulus modulus_;
    SecretBuffer powers_of_r_;
    SecretBuffer one_row_;
};

}  // namespace hekat
