// Pairs of residues mod n: one reduction for the lower half, whose quotient goes into the reduction of the
// upper.
#include "bigint/montgomery_pairs.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"

namespace hekat {

MontgomeryPairs::MontgomeryPairs(const Limb* n, std::size_t half_limbs, const TileKernels& kernels)
    : OneLaneRing(2 * half_limbs, 2 * tiles_for(half_limbs) * kTileLimbs, kernels),
      base_(n, half_limbs, kernels),
      tiles_(tiles_for(half_limbs)),
      minus_n_(half()),
      n_squared_(width()),
      powers_of_r_(kPowers * width()),
      one_row_(row_limbs()) {
    for (std::size_t i = 0; i < half(); ++i) minus_n_.data()[i] = ~base_.modulus()[i];
    square_tiles(kernels, n_squared_.data(), base_.modulus(), tiles_);
    // R and R^2 mod n^2 by doubling 1: slower than dividing, but it shows nothing of n.
    SecretBuffer scratch(scratch_count());
    SecretBuffer power(width());
    power.data()[0] = 1;
    for (std::size_t i = 1; i <= 2; ++i) {
        for (std::size_t bit = 0; bit < kLimbBits * half(); ++bit) {
            add(power.data(), power.data(), power.data(), scratch.data());
        }
        std::memcpy(power_of_r(i), power.data(), width() * sizeof(Limb));
    }
    for (std::size_t i = 3; i <= kPowers; ++i) {
        multiply(power_of_r(i), power_of_r(i - 1), power_of_r(2), scratch.data());
    }
    narrow(one_row_.data(), one());
}

bool MontgomeryPairs::serve(std::size_t square_limbs, std::size_t half_limbs) {
    const std::size_t half_tiles = tiles_for(half_limbs);
    const std::size_t square_tiles_count = tiles_for(square_limbs);
    return square_limbs == 2 * half_limbs &&
           5 * half_tiles * half_tiles < 2 * square_tiles_count * square_tiles_count;
}

void MontgomeryPairs::reduce(Limb* z, Limb* t0, Limb* t1, Limb cross, Range range, Limb* scratch) const {
    // u = (t0 + m n) / R < (R n + R n) / R = 2n.
    Limb* m = scratch;
    const Limb u_high = base_.reduce(t0, m, 0);
    const Limb carry = base_.subtract_modulus_once(z, t0 + half(), u_high, t0);
    // T = cross R^2 + t1 + (R - m), R - m being ~m + 1; what runs over the lower half goes into the quotient.
    for (std::size_t i = 0; i < half(); ++i) m[i] = ~m[i];
    const Limb over = kernels_.add(t1, t1, m, 1, tiles_);
    const Limb v_high = base_.reduce(t1, m, over) + cross;
    // s = V - 1 + carry - n, from V - n = V + (R - 1 - n) + 1 - R; negative exactly where `is_below`.
    Limb* v = t1 + half();
    Limb* upper = z + half();
    const Limb high = kernels_.add(v, v, minus_n_.data(), carry, tiles_) + v_high - 1;
    const Limb is_below = mask_of_bit(high >> (kLimbBits - 1));
    const Limb* n = base_.modulus();
    if (range == Range::kTwo) {
        // s in [-n, n): n goes back on where s is negative.
        for (std::size_t i = 0; i < half(); ++i) m[i] = n[i] & is_below;
        kernels_.add(upper, v, m, 0, tiles_);
        return;
    }
    // s in [-n, 2n): n goes back on where s is negative, and off where it is not; then s stays where that is
    // negative.
    for (std::size_t i = 0; i < half(); ++i) m[i] = n[i] ^ ~is_below;
    const Limb next_high = high - (1 + is_below) + kernels_.add(t1, v, m, 1 + is_below, tiles_);
    const Limb keep = mask_of_bit(next_high >> (kLimbBits - 1));
    for (std::size_t i = 0; i < half(); ++i) upper[i] = t1[i] ^ ((t1[i] ^ v[i]) & keep);
}

void MontgomeryPairs::multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const {
    Limb* t0 = scratch;
    Limb* t1 = t0 + width();
    multiply_tiles(kernels_, t0, a, tiles_, b, tiles_);
    multiply_tiles(kernels_, t1, a, tiles_, b + half(), tiles_);
    const Limb cross = multiply_tiles_onto(kernels_, t1, a + half(), tiles_, b, tiles_);
    // a0 b1 + a1 b0 <= 2 (n-1)^2, so V <= (2 (n-1)^2 + R + (R-1) n) / R < 2 (n-1) + 1 + n < 3n.
    reduce(z, t0, t1, cross, Range::kThree, t1 + width());
}

void MontgomeryPairs::square(Limb* z, const Limb* a, Limb* scratch) const {
    Limb* t0 = scratch;
    Limb* t1 = t0 + width();
    Limb* rest = t1 + width();
    Limb* doubled = rest + half();
    const Limb high = kernels_.add(doubled, a + half(), a + half(), 0, tiles_);
    base_.subtract_modulus_once(doubled, doubled, high, rest);
    square_tiles(kernels_, t0, a, tiles_);
    multiply_tiles(kernels_, t1, a, tiles_, doubled, tiles_);
    // a0 (2 a1 mod n) <= (n-1)^2, so V <= ((n-1)^2 + R + (R-1) n) / R < (n-1) + 1 + n = 2n.
    reduce(z, t0, t1, 0, Range::kTwo, rest);
}

void MontgomeryPairs::multiply_digit(Limb* z, const Limb* digit, const Limb* b, Limb* scratch) const {
    Limb* t0 = scratch;
    Limb* t1 = t0 + width();
    multiply_tiles(kernels_, t0, digit, tiles_, b, tiles_);
    multiply_tiles(kernels_, t1, digit, tiles_, b + half(), tiles_);
    // digit b1 <= (R-1)(n-1), so V <= ((R-1)(n-1) + R + (R-1) n) / R < (n-1) + 1 + n = 2n.
    reduce(z, t0, t1, 0, Range::kTwo, t1 + width());
}

void MontgomeryPairs::add(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const {
    const Limb lower_high = kernels_.add(z, a, b, 0, tiles_);
    const Limb carry = base_.subtract_modulus_once(z, z, lower_high, scratch);
    // At most 2 (n-1) + 1, below 2n.
    Limb* upper = z + half();
    const Limb upper_high = kernels_.add(upper, a + half(), b + half(), carry, tiles_);
    base_.subtract_modulus_once(upper, upper, upper_high, scratch);
}

void MontgomeryPairs::enter(Limb* z, const Limb* const* values, std::size_t value_limbs,
                            Limb* scratch) const {
    // x = the sum of digits x_i R^i: its form is the sum of x_i R^(i+2) / R.
    Limb* digit = scratch + 3 * width();
    Limb* part = digit + width();
    for (std::size_t i = 0, at = 0; at < value_limbs; ++i, at += half()) {
        const std::size_t limbs = std::min(half(), value_limbs - at);
        std::memcpy(digit, values[0] + at, limbs * sizeof(Limb));
        std::memset(digit + limbs, 0, (half() - limbs) * sizeof(Limb));
        multiply_digit(i == 0 ? z : part, digit, power_of_r(i + 2), scratch);
        if (i > 0) add(z, z, part, scratch);
    }
}

void MontgomeryPairs::leave(Limb* const* values, const Limb* x, Limb* scratch) const {
    if (values[0] == nullptr) return;
    Limb* t0 = scratch;
    Limb* t1 = t0 + width();
    Limb* pair = t1 + width() + half();
    std::memcpy(t0, x, half() * sizeof(Limb));
    std::memset(t0 + half(), 0, half() * sizeof(Limb));
    std::memcpy(t1, x + half(), half() * sizeof(Limb));
    std::memset(t1 + half(), 0, half() * sizeof(Limb));
    // The product with the pair (1, 0): x1 < n, so V <= ((n-1) + R + (R-1) n) / R < n + 2 < 2n.
    reduce(pair, t0, t1, 0, Range::kTwo, t1 + width());
    multiply_tiles(kernels_, t0, pair + half(), tiles_, base_.modulus(), tiles_);
    const Limb carry = kernels_.add(t0, t0, pair, 0, tiles_);
    // u + v n < n^2: nothing runs over.
    add_limb(t0 + half(), carry, half());
    std::memcpy(values[0], t0, limb_count() * sizeof(Limb));
}

bool MontgomeryPairs::invert(Limb* z, const Limb* x) const {
    // y of half() limbs with x y = 1 + e n mod n^2: then x^-1 = y (1 - e n), one step of Newton's.
    SecretBuffer memory(4 * width() + scratch_count());
    Limb* y = memory.data();
    Limb* wide = y + width();
    Limb* product = wide + width();
    Limb* value = product + width();
    Limb* scratch = value + width();
    const bool found = invert_limbs(y, x, base_.modulus(), base_.limb_count());
    widen(wide, x);
    multiply_digit(product, y, wide, scratch);
    multiply(product, product, power_of_r(2), scratch);
    // The pair of 1 - e n, as a number: e becomes n - e, or 0 for 0.
    Limb* e = product + half();
    kernels_.subtract(e, base_.modulus(), e, tiles_);
    base_.subtract_modulus_once(e, e, 0, scratch);
    // x stands for its value times R, and so does z: y R^4 / R (1 - e n) / R = x^-1 R^2.
    multiply_digit(value, y, power_of_r(4), scratch);
    multiply(value, value, product, scratch);
    narrow(z, value);
    return found;
}

void MontgomeryPairs::widen(Limb* z, const Limb* row) const {
    // The upper half first, out of the way.
    std::memmove(z + half(), row + base_.limb_count(), base_.limb_count() * sizeof(Limb));
    base_.widen(z + half(), z + half());
    base_.widen(z, row);
}

void MontgomeryPairs::narrow(Limb* row, const Limb* x) const {
    base_.narrow(row, x);
    base_.narrow(row + base_.limb_count(), x + half());
}

}  // namespace hekat
