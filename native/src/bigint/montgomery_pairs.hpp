// Arithmetic modulo n^2 on pairs of residues mod n: about 5/8 of the products that n^2 taken as any modulus
// costs.
#pragma once

#include "bigint/montgomery.hpp"

namespace hekat {

// x = x0 + x1 n mod n^2 stands as the pair of x R mod n^2, R = 2^(512 tiles) > n the radix of n: both halves
// in [0, n), of 8 * tiles limbs each, the lower half first.
//
// A product of pairs a and b, divided by R: choose m in [0, R) with a0 b0 + m n = R u, then
//     a b = R u + (a0 b1 + a1 b0 - m) n   (mod n^2),
// so a b / R = u + v n with v = (a0 b1 + a1 b0 - m) / R mod n. Where u >= n, n is taken off u and 1 added to
// v. To stay above zero v is computed of T = a0 b1 + a1 b0 + (R - m), which is at least 1, as V - 1 with V =
// (T + m' n) / R; V >= 1. The two corrections of v make one: v = V - 1 + carry, carry = 1 exactly where u >=
// n.
class MontgomeryPairs final : public OneLaneRing {
  public:
    // n: half_limbs limbs, odd, above 1; values mod n^2 have 2 * half_limbs limbs.
    MontgomeryPairs(const Limb* n, std::size_t half_limbs, const TileKernels& kernels);

    // True where pairs cost less than n^2 taken as any modulus of square_limbs limbs, and fit its limbs at
    // rest.
    static bool serve(std::size_t square_limbs, std::size_t half_limbs);

    std::size_t scratch_count() const override { return 6 * width(); }
    double product_ns() const override { return 3 * static_cast<double>(half() * half()) + 100; }
    const Limb* modulus() const override { return n_squared_.data(); }
    const Limb* one() const override { return power_of_r(1); }
    const Limb* one_row() const override { return one_row_.data(); }

    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const override;
    void square(Limb* z, const Limb* a, Limb* scratch) const override;
    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;
    // Rows are each half's lower limbs.
    void widen(Limb* z, const Limb* row) const override;
    void narrow(Limb* row, const Limb* x) const override;

  private:
    std::size_t half() const { return base_.width(); }
    // R^i mod n^2 as a pair, i in 1..kPowers.
    const Limb* power_of_r(std::size_t i) const { return powers_of_r_.data() + (i - 1) * width(); }
    Limb* power_of_r(std::size_t i) { return powers_of_r_.data() + (i - 1) * width(); }

    // z = a + b mod n^2. z may be a or b. scratch: half() limbs.
    void add(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const;
    // z = digit b / R mod n^2 for a digit of half() limbs, any value below R. scratch: 2 * width() + half().
    void multiply_digit(Limb* z, const Limb* digit, const Limb* b, Limb* scratch) const;
    // How large V may be: below 2n, or below 3n.
    enum class Range { kTwo, kThree };
    // z = the pair u, v of t0 = a0 b0 < R n and cross 2^(64 width) + t1 = a0 b1 + a1 b0, both of width()
    // limbs and used up; z may lie in neither. scratch: half() limbs.
    void reduce(Limb* z, Limb* t0, Limb* t1, Limb cross, Range range, Limb* scratch) const;

    static constexpr std::size_t kPowers = 5;

    Montgomery base_;  // of n
    std::size_t tiles_;
    SecretBuffer minus_n_;  // R - 1 - n
    SecretBuffer n_squared_;
    SecretBuffer powers_of_r_;
    SecretBuffer one_row_;
};

}  // namespace hekat
