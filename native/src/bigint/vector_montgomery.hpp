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

    std::size_t scratch_count() const override { return (4 + 2 * max_digits()) * width(); }
    double product_ns() const override { return product_ns_of(4 * static_cast<double>(limbs() * limbs())); }
    const Limb* modulus() const override { return canonical_n_.data(); }

    void multiply_and_fetch(Limb* z, const Limb* a, const Limb* b, Limb* scratch,
                            const Fetch& next) const override;
    void square(Limb* z, const Limb* a, Limb* scratch) const override;
    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;

  private:
    VectorMontgomery(const Limb* n, std::size_t limb_count, VectorSize size);

    void double_canonical(Limb* z, Limb* scratch) const override;
    void make_canonical(Limb* z, Limb* scratch) const override;

    SecretBuffer canonical_n_;
    SecretBuffer n_;        // plain
    SecretBuffer twice_n_;  // plain
    vector::Modulus modulus_;
};

}  // namespace hekat
