// Arithmetic modulo one odd n in Montgomery form: x stands as x R mod n, R = 2^(512 tiles) > n.
#pragma once

#include "bigint/limb.hpp"
#include "bigint/secret_buffer.hpp"
#include "bigint/tile.hpp"

namespace hekat {

// What is precomputed for one modulus. Residues inside are `width()` limbs, a whole number of tiles, and
// below n. Everything here is constant time in residues and in n; sizes are public. Source: Montgomery,
// Modular multiplication without trial division (1985).
class Montgomery {
  public:
    // n: limb_count limbs, odd, above 1; a leading zero limb is allowed.
    Montgomery(const Limb* n, std::size_t limb_count, const TileKernels& kernels);

    std::size_t limb_count() const { return limb_count_; }
    std::size_t width() const { return tiles_ * kTileLimbs; }
    std::size_t scratch_count() const { return 4 * width(); }
    const TileKernels& kernels() const { return kernels_; }
    const Limb* modulus() const { return n_.data(); }
    const Limb* one() const { return r1_.data(); }

    // z = a b / R mod n, in [0, n), for a < R and b < n (or a < n and b < R). z may be a or b.
    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const;

    // z = a a / R mod n, in [0, n), for a < n. z may be a.
    void square(Limb* z, const Limb* a, Limb* scratch) const;

    // z = x R mod n for any x < R. z may be x.
    void enter(Limb* z, const Limb* x, Limb* scratch) const { multiply(z, x, r2_.data(), scratch); }

    // z = x R mod n for any x of 2 * width() limbs. z is apart from x.
    void enter_wide(Limb* z, const Limb* x, Limb* scratch) const;

    // z = x / R mod n: out of Montgomery form. z may be x.
    void leave(Limb* z, const Limb* x, Limb* scratch) const;

    // z = x R^3 mod n for x < n: makes the Montgomery form of the inverse out of the inverse of a Montgomery
    // form.
    void repair_inverse(Limb* z, const Limb* x, Limb* scratch) const { multiply(z, x, r3_.data(), scratch); }

    // limb_count() limbs to width() limbs and back.
    void widen(Limb* z, const Limb* x) const;
    void narrow(Limb* z, const Limb* x) const;

  private:
    // z = t / R mod n, in [0, n), for t < R n of 2 * width() limbs, which it uses up; z may lie in t.
    void reduce_product(Limb* z, Limb* t, Limb* scratch) const;
    // z = x - n where high 2^(64 width) + x >= n, else x; z may be x.
    void subtract_modulus_once(Limb* z, const Limb* x, Limb high, Limb* scratch) const;

    const TileKernels& kernels_;
    std::size_t limb_count_;
    std::size_t tiles_;
    Limb n_inverse_ = 0;  // -n^-1 mod 2^64
    SecretBuffer n_;
    SecretBuffer r1_;  // R mod n
    SecretBuffer r2_;  // R^2 mod n
    SecretBuffer r3_;  // R^3 mod n
};

}  // namespace hekat
