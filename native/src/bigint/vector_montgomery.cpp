// Eight Montgomery products at a time.
#include "bigint/vector_montgomery.hpp"

#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"
#include "bigint/reveal.hpp"
#include "bigint/vector_layout.hpp"

namespace hekat {

using vector::kLanes;

namespace {

constexpr unsigned kSpareBits = 2;  // R > 4 n

}  // namespace

VectorMontgomery::VectorMontgomery(const Limb* n, std::size_t limb_count)
    : VectorMontgomery(n, limb_count,
                       vector_size(reveal(bit_length(n, limb_count)), limb_count, kSpareBits)) {}

VectorMontgomery::VectorMontgomery(const Limb* n, std::size_t limb_count, VectorSize size)
    : VectorRing(limb_count, size.limbs, size),
      canonical_n_(limb_count),
      n_(size.limbs),
      twice_n_(size.limbs),
      modulus_{n_.data(), 0, size.limbs} {
    std::memcpy(canonical_n_.data(), n, limb_count * sizeof(Limb));
    vector::split_limbs(n_.data(), limbs(), n, limb_count);
    twice_plain(twice_n_.data(), n_.data(), limbs());
    modulus_.n_inverse = negative_inverse52(n_.data()[0]);
    fill_first_power_of_r(reveal(bit_length(n, limb_count)));
    fill_higher_powers_of_r();
}

void VectorMontgomery::double_canonical(Limb* z, Limb* scratch) const {
    Limb* doubled = scratch;
    Limb* rest = scratch + width();
    Limb taken[kLanes];
    vector::twice(doubled, z, limbs());
    vector::subtract_once(z, doubled, n_.data(), taken, limbs(), rest);
}

void VectorMontgomery::make_canonical(Limb* z, Limb* scratch) const {
    Limb taken[kLanes];
    vector::subtract_once(z, z, n_.data(), taken, limbs(), scratch);
}

void VectorMontgomery::multiply_and_fetch(Limb* z, const Limb* a, const Limb* b, Limb* scratch,
                                          const Fetch& next) const {
    Limb* t = scratch;
    Limb* m = t + 2 * width();
    next.part(0, 2);
    vector::multiply(t, a, b, limbs());
    next.part(1, 2);
    vector::reduce(t, m, modulus_);
    vector::clean(z, t + width(), limbs());
}

void VectorMontgomery::square(Limb* z, const Limb* a, Limb* scratch) const {
    Limb* t = scratch;
    Limb* m = t + 2 * width();
    vector::square(t, a, limbs(), m);
    vector::reduce(t, m, modulus_);
    vector::clean(z, t + width(), limbs());
}

void VectorMontgomery::enter(Limb* z, const Limb* const* values, std::size_t value_limbs,
                             Limb* scratch) const {
    // x = the sum of x_i R^i with x_i below R: its form is the sum of x_i (R^(i+2) mod n) / R.
    const std::size_t digit_count = (vector::words_for(value_limbs) + limbs() - 1) / limbs();
    Limb* t = scratch;
    Limb* m = t + 2 * width();
    Limb* rest = m + width();
    Limb* digits = rest + width();
    split_into_digits(digits, values, value_limbs, limbs(), digit_count, digits + digit_count * width());
    vector::multiply(t, digits, power_of_r(2), limbs());
    for (std::size_t i = 1; i < digit_count; ++i) {
        vector::multiply_onto(t, digits + i * width(), power_of_r(i + 2), limbs());
    }
    vector::reduce(t, m, modulus_);
    // Below (digit_count + 1) n, at most 4 n <= R.
    vector::clean(z, t + width(), limbs());
    Limb taken[kLanes];
    vector::subtract_once(z, z, twice_n_.data(), taken, limbs(), rest);
}

void VectorMontgomery::leave(Limb* const* values, const Limb* x, Limb* scratch) const {
    Limb* t = scratch;
    Limb* m = t + 2 * width();
    std::memcpy(t, x, width() * sizeof(Limb));
    std::memset(t + width(), 0, width() * sizeof(Limb));
    vector::reduce(t, m, modulus_);
    // (x + m n) / R <= (2 n - 1 + (R - 1) n) / R < n + 1.
    vector::clean(t, t + width(), limbs());
    Limb taken[kLanes];
    vector::subtract_once(t, t, n_.data(), taken, limbs(), m);
    join_lanes(values, limb_count(), t, limbs(), m + width());
}

bool VectorMontgomery::invert(Limb* z, const Limb* x) const {
    SecretBuffer memory(scratch_count() + width() + limb_count());
    Limb* group = memory.data();
    Limb* scratch = group + width();
    Limb* value = scratch + scratch_count();
    const Limb* rows[kLanes];
    for (const Limb*& row : rows) row = x;
    gather(group, rows);
    Limb* values[kLanes] = {value};
    leave(values, group, scratch);
    const bool found = invert_limbs(value, value, canonical_n_.data(), limb_count());
    for (const Limb*& row : rows) row = value;
    enter(group, rows, limb_count(), scratch);
    Limb* results[kLanes] = {z};
    scatter(results, group);
    return found;
}

}  // namespace hekat
