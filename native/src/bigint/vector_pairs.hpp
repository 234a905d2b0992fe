// Arithmetic modulo n^2 on pairs of residues mod n, eight at a time.
#pragma once

#include "bigint/secret_buffer.hpp"
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

    std::size_t scratch_count() const override { return (7 + 2 * size_.max_digits) * half(); }
    double product_ns() const override;
    const Limb* modulus() const override { return n_squared_.data(); }
    const Limb* one() const override { return power_of_r(1); }
    const Limb* one_row() const override { return one_row_.data(); }

    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const override;
    void square(Limb* z, const Limb* a, Limb* scratch) const override;
    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;

  private:
    VectorPairs(const Limb* n, std::size_t half_limbs, std::size_t limb_count, VectorSize size);

    std::size_t limbs() const { return size_.limbs; }
    // Words of one half of a group.
    std::size_t half() const { return vector::kLanes * size_.limbs; }
    // R^i mod n^2 in all lanes, both halves below n, i in 1 .. max_digits + 1.
    const Limb* power_of_r(std::size_t i) const { return powers_of_r_.data() + (i - 1) * width(); }
    Limb* power_of_r(std::size_t i) { return powers_of_r_.data() + (i - 1) * width(); }
    void fill_n_squared();
    void fill_powers_of_r(std::size_t modulus_bits);

    // z (both halves below n) = z for halves below 2 n. scratch: half() words.
    void normalise(Limb* z, Limb* scratch) const;
    // z = 2 z for halves below n, and so again. scratch: 2 * half() words.
    void double_below_n(Limb* z, Limb* scratch) const;
    // z (both halves below n) = the pair of x / R. scratch: 3 * half() words; z may be x.
    void leave_pair(Limb* z, const Limb* x, Limb* scratch) const;

    std::size_t half_limbs_;  // 64-bit limbs of n
    VectorSize size_;
    SecretBuffer canonical_n_;
    SecretBuffer n_squared_;
    SecretBuffer n_;  // plain, as are the next two
    SecretBuffer twice_n_;
    SecretBuffer four_n_;
    SecretBuffer n_in_lanes_;
    SecretBuffer
        lift_;  // plain: the limbs of C, each but the top one made large enough to take any limb from
    vector::Modulus modulus_;
    SecretBuffer powers_of_r_;
    SecretBuffer one_row_;
};

}  // namespace hekat
