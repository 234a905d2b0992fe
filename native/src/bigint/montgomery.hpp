// Arithmetic modulo one odd n in Montgomery form: x stands as x R mod n, R = 2^(512 tiles) > n.
#pragma once

#include "bigint/one_lane_ring.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {

// What is precomputed for one modulus. Residues in work are below n. Source: Montgomery, Modular
// multiplication without trial division (1985).
class Montgomery final : public OneLaneRing {
  public:
    // n: limb_count limbs, odd, above 1; a leading zero limb is allowed.
    Montgomery(const Limb* n, std::size_t limb_count, const TileKernels& kernels);

    std::size_t scratch_count() const override { return 4 * width(); }
    double product_ns() const override { return 1.2 * static_cast<double>(width() * width()) + 100; }
    const Limb* modulus() const override { return n_.data(); }
    const Limb* one() const override { return r1_.data(); }
    const Limb* one_row() const override { return r1_.data(); }

    // z = a b / R mod n, in [0, n), for a < R and b < n (or a < n and b < R).
    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const override;
    // z = a a / R mod n, in [0, n), for a < n.
    void square(Limb* z, const Limb* a, Limb* scratch) const override;

    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override;
    void leave(Limb* const* values, const Limb* x, Limb* scratch) const override;
    bool invert(Limb* z, const Limb* x) const override;

    // z = x R^3 mod n for x < n: makes the Montgomery form of the inverse out of the inverse of a Montgomery
    // form.
    void repair_inverse(Limb* z, const Limb* x, Limb* scratch) const { multiply(z, x, r3_.data(), scratch); }

    // Rows are the lower limb_count() limbs.
    void widen(Limb* z, const Limb* row) const override;
    void narrow(Limb* row, const Limb* x) const override;

    // t of 2 * width() limbs becomes (t + m n) / R in its upper half, for the m of width() limbs that makes
    // the division exact; the lower half is used up. `carry` in {0, 1} is added to the quotient. Returns what
    // the quotient has above its limbs: 0 or 1, for t < R^2.
    Limb reduce(Limb* t, Limb* m, Limb carry) const;

    // z = x - n where high 2^(64 width) + x >= n, else x; returns 1 where it subtracted, else 0. z may be x.
    // scratch: width() limbs.
    Limb subtract_modulus_once(Limb* z, const Limb* x, Limb high, Limb* scratch) const;

  private:
    // z = t / R mod n, in [0, n), for t < R n of 2 * width() limbs, which it uses up; z may lie in t.
    void reduce_product(Limb* z, Limb* t, Limb* scratch) const;

    std::size_t tiles_;
    Limb n_inverse_ = 0;  // -n^-1 mod 2^64
    SecretBuffer n_;
    SecretBuffer r1_;  // R mod n
    SecretBuffer r2_;  // R^2 mod n
    SecretBuffer r3_;  // R^3 mod n
};

}  // namespace hekat
