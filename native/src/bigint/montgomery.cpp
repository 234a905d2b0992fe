// Montgomery arithmetic over tiles: one full product, then one reduction that clears a tile at a time.
#include "bigint/montgomery.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"

namespace hekat {

Montgomery::Montgomery(const Limb* n, std::size_t limb_count, const TileKernels& kernels)
    : OneLaneRing(limb_count, tiles_for(limb_count) * kTileLimbs, kernels),
      tiles_(tiles_for(limb_count)),
      n_(width()),
      r1_(width()),
      r2_(width()),
      r3_(width()) {
    std::memcpy(n_.data(), n, limb_count * sizeof(Limb));
    // Newton: each step doubles the bits of n^-1 that are right; n itself is right to 3 bits.
    Limb inverse = n_.data()[0];
    for (int step = 0; step < 5; ++step) inverse *= 2 - n_.data()[0] * inverse;
    n_inverse_ = Limb{0} - inverse;
    // R and R^2 mod n by doubling 1: slower than dividing, but it shows nothing of n.
    SecretBuffer scratch(scratch_count());
    SecretBuffer power(width());
    power.data()[0] = 1;
    for (std::size_t bit = 0; bit < 2 * kLimbBits * width(); ++bit) {
        if (bit == kLimbBits * width()) std::memcpy(r1_.data(), power.data(), width() * sizeof(Limb));
        const Limb carry = kernels.add(power.data(), power.data(), power.data(), 0, tiles_);
        subtract_modulus_once(power.data(), power.data(), carry, scratch.data());
    }
    std::memcpy(r2_.data(), power.data(), width() * sizeof(Limb));
    multiply(r3_.data(), r2_.data(), r2_.data(), scratch.data());
}

Limb Montgomery::subtract_modulus_once(Limb* z, const Limb* x, Limb high, Limb* scratch) const {
    const Limb borrow = kernels_.subtract(scratch, x, n_.data(), tiles_);
    // x + high 2^(64 width) < n exactly where the subtraction borrows and there is no high bit to lend.
    const Limb keep = mask_of_bit(borrow & (high ^ 1));
    for (std::size_t i = 0; i < width(); ++i) z[i] = scratch[i] ^ ((scratch[i] ^ x[i]) & keep);
    return 1 + keep;
}

Limb Montgomery::reduce(Limb* t, Limb* m, Limb carry) const {
    Limb w[kTileLimbs];
    for (std::size_t i = 0; i < tiles_; ++i) {
        Limb* low = t + i * kTileLimbs;
        Limb* high = low + width();
        Limb* digits = m + i * kTileLimbs;
        kernels_.reduce_tile(digits, w, low, n_.data(), n_inverse_);
        kernels_.multiply_row(low + kTileLimbs, w, digits, n_.data() + kTileLimbs, tiles_ - 1);
        // high + w + carry, the carry going to the next tile. The sum t + m n stays below 2 R^2.
        carry = kernels_.add(high, high, w, carry, 1);
    }
    wipe(w, kTileLimbs);
    return carry;
}

void Montgomery::reduce_product(Limb* z, Limb* t, Limb* scratch) const {
    const Limb carry = reduce(t, scratch, 0);
    // t / R < 2n; `carry` is its limb above.
    subtract_modulus_once(z, t + width(), carry, scratch);
}

void Montgomery::multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const {
    multiply_tiles(kernels_, scratch, a, tiles_, b, tiles_);
    reduce_product(z, scratch, scratch + 2 * width());
}

void Montgomery::square(Limb* z, const Limb* a, Limb* scratch) const {
    square_tiles(kernels_, scratch, a, tiles_);
    reduce_product(z, scratch, scratch + 2 * width());
}

void Montgomery::enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const {
    // x = low + high R: its Montgomery form is low R^2 / R + high R^3 / R.
    const std::size_t low_limbs = std::min(value_limbs, width());
    std::memcpy(z, values[0], low_limbs * sizeof(Limb));
    std::memset(z + low_limbs, 0, (width() - low_limbs) * sizeof(Limb));
    multiply(z, z, r2_.data(), scratch);
    if (low_limbs == value_limbs) return;
    const std::size_t high_limbs = value_limbs - low_limbs;
    Limb* high = scratch + 3 * width();
    std::memcpy(high, values[0] + low_limbs, high_limbs * sizeof(Limb));
    std::memset(high + high_limbs, 0, (width() - high_limbs) * sizeof(Limb));
    multiply(high, high, r3_.data(), scratch);
    const Limb carry = kernels_.add(z, z, high, 0, tiles_);
    subtract_modulus_once(z, z, carry, scratch);
}

void Montgomery::leave(Limb* const* values, const Limb* x, Limb* scratch) const {
    if (values[0] == nullptr) return;
    std::memcpy(scratch, x, width() * sizeof(Limb));
    std::memset(scratch + width(), 0, width() * sizeof(Limb));
    reduce_product(scratch, scratch, scratch + 2 * width());
    narrow(values[0], scratch);
}

bool Montgomery::invert(Limb* z, const Limb* x) const {
    SecretBuffer memory(width() + scratch_count());
    const bool found = invert_limbs(memory.data(), x, n_.data(), limb_count());
    repair_inverse(memory.data(), memory.data(), memory.data() + width());
    narrow(z, memory.data());
    return found;
}

void Montgomery::widen(Limb* z, const Limb* row) const {
    if (z != row) std::memcpy(z, row, limb_count() * sizeof(Limb));
    std::memset(z + limb_count(), 0, (width() - limb_count()) * sizeof(Limb));
}

void Montgomery::narrow(Limb* row, const Limb* x) const { std::memcpy(row, x, limb_count() * sizeof(Limb)); }

}  // namespace hekat
