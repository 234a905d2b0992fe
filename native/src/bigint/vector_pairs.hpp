// Arithmetic modulo n^2 on pairs of residues mod n, eight at a time.
#pragma once

#include "bigint/secret_buffer.hpp"
#include "bigint/vector_pair_factors.hpp"
#include "bigint/vector_ring.hpp"

namespace hekat {

// A residue x stands as any two numbers x0 and x1 below 2 n with x0 + x1 n = x R mod n^2, R = 2^(52 L) above
// 16 n; the lower half comes first.
//
// A product of pairs a and b, divided by R: choose m in [0, R) with a0 b0 + m n = R u, then
//     a b = R u + (a0 b1 + a1 b0 - m) n   (mod n^2),
// so a b / R = u + v n with v = (a0 b1 + a1 b0 + C - m) / R mod n, C the multiple of n in (R, R + n] that
// keeps the sum above zero. Ranges, for halves below 2 n:
//     u < (4 n^2 + R n) / R < 2 n,
//     v < (8 n^2 + R + n + R n) / R < n / 2 + 1 + n + 1 < 2 n.
// Nothing is subtracted and no carry goes from u to v between operations: a half of n or more stands for what
// it is. Only where canonical values are wanted is n taken off u, and 1 then added to v.
class VectorPairs final : public VectorRing {
  public:
    // n: half_limbs limbs, odd, above 1; values mod n^2 have limb_count limbs.
    VectorPairs(const Limb* n, std::size_t half_limbs, std::size_t limb_count);

    std::size_t scratch_count() const override { return (6 + 2 * max_digits()) * half(); }
    double product_ns() const override { return product_ns_of(10 * static_cast<double>(limbs() * limbs())); }
    const Limb* modulus() const override { return n_squared_.data(); }
    const Factors* factors() const override { return &factors_; }

    void multiply_and_fetch(Limb* z, const Limb* a, const Limb* b, Limb* scratch,
                            const Fetch& next) const override;
    void square(Limb* z, const Limb* a, Limb* scratch) const override;
    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;

  private:
    VectorPairs(const Limb* n, std::size_t n_bits, std::size_t half_limbs, std::size_t limb_count);
    VectorPairs(const Limb* n, std::size_t n_bits, std::size_t half_limbs, std::size_t limb_count,
                VectorSize size);

    // Words of one half of a group.
    std::size_t half() const { return vector::kLanes * limbs(); }
    void fill_n_squared();
    void fill_lift();

    // The halves are below n, before and after.
    void double_canonical(Limb* z, Limb* scratch) const override;
    void make_canonical(Limb* z, Limb* scratch) const override;
    // z (both halves below n) = the pair of x / R. scratch: 3 * half() words; z may be x.
    void leave_pair(Limb* z, const Limb* x, Limb* scratch) const;

    std::size_t half_limbs_;  // 64-bit limbs of n
    SecretBuffer canonical_n_;
    SecretBuffer n_squared_;
    // Plain numbers: n, 2 n, 4 n, and C - R with every limb made large enough to take any clean limb from.
    SecretBuffer n_;
    SecretBuffer twice_n_;
    SecretBuffer four_n_;
    SecretBuffer lift_;
    SecretBuffer n_in_lanes_;
    vector::Modulus modulus_;
    VectorPairFactors factors_;
};

}  // namespace hekat
