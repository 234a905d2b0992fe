// Eight products of pairs at a time.
#include "bigint/vector_pairs.hpp"

#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"
#include "bigint/reveal.hpp"
#include "bigint/vector_layout.hpp"

namespace hekat {

using vector::kLanes;

namespace {

constexpr unsigned kSpareBits = 4;  // R > 16 n

// z = x - y for plain numbers x >= y.
void subtract_plain(Limb* z, const Limb* x, const Limb* y, std::size_t limbs) {
    Limb borrow = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
        const Limb difference = x[i] - y[i] - borrow;
        z[i] = difference & vector::kLimbMask52;
        borrow = difference >> (kLimbBits - 1);
    }
}

// z = lane 0 of x.
void take_first_lane(Limb* z, const Limb* x, std::size_t limbs) {
    for (std::size_t i = 0; i < limbs; ++i) z[i] = x[kLanes * i];
}

}  // namespace

VectorPairs::VectorPairs(const Limb* n, std::size_t half_limbs, std::size_t limb_count)
    : VectorPairs(n, reveal(bit_length(n, half_limbs)), half_limbs, limb_count) {}

VectorPairs::VectorPairs(const Limb* n, std::size_t n_bits, std::size_t half_limbs, std::size_t limb_count)
    : VectorPairs(n, n_bits, half_limbs, limb_count, vector_size(n_bits, limb_count, kSpareBits)) {}

VectorPairs::VectorPairs(const Limb* n, std::size_t n_bits, std::size_t half_limbs, std::size_t limb_count,
                         VectorSize size)
    : VectorRing(limb_count, 2 * size.limbs, size),
      half_limbs_(half_limbs),
      canonical_n_(half_limbs),
      n_squared_(limb_count),
      n_(size.limbs),
      twice_n_(size.limbs),
      four_n_(size.limbs),
      lift_(size.limbs),
      n_in_lanes_(kLanes * size.limbs),
      modulus_{n_.data(), 0, size.limbs},
      factors_(*this, {modulus_, twice_n_.data(), lift_.data(), power_of_r(2)}, n_bits) {
    std::memcpy(canonical_n_.data(), n, half_limbs * sizeof(Limb));
    vector::split_limbs(n_.data(), limbs(), n, half_limbs);
    twice_plain(twice_n_.data(), n_.data(), limbs());
    twice_plain(four_n_.data(), twice_n_.data(), limbs());
    vector::spread(n_in_lanes_.data(), n_.data(), limbs());
    modulus_.n_inverse = negative_inverse52(n_.data()[0]);
    fill_n_squared();
    fill_first_power_of_r(n_bits);
    fill_lift();
    fill_higher_powers_of_r();
}

void VectorPairs::fill_n_squared() {
    SecretBuffer memory(width() + width());
    Limb* square = memory.data();
    vector::multiply(square, n_in_lanes_.data(), n_in_lanes_.data(), limbs());
    vector::clean(square, square, 2 * limbs());
    Limb* values[kLanes] = {n_squared_.data()};
    join_lanes(values, limb_count(), square, 2 * limbs(), square + width());
}

void VectorPairs::fill_lift() {
    // C = R + n - (R mod n). Its limb 2^(52 L) is handed down: one unit of each limb makes 2^52 of the next
    // lower.
    SecretBuffer remainder(limbs());
    take_first_lane(remainder.data(), one(), limbs());
    subtract_plain(lift_.data(), n_.data(), remainder.data(), limbs());
    for (std::size_t i = 0; i < limbs(); ++i) lift_.data()[i] += vector::kLimbMask52 + (i == 0 ? 1 : 0);
}

void VectorPairs::make_canonical(Limb* z, Limb* scratch) const {
    Limb* upper = z + half();
    Limb taken[kLanes];
    vector::subtract_once(z, z, n_.data(), taken, limbs(), scratch);
    vector::add(upper, upper, taken, 1);
    vector::clean(upper, upper, limbs());
    // At most 2 n: twice.
    vector::subtract_once(upper, upper, n_.data(), taken, limbs(), scratch);
    vector::subtract_once(upper, upper, n_.data(), taken, limbs(), scratch);
}

void VectorPairs::double_canonical(Limb* z, Limb* scratch) const {
    Limb* doubled = scratch;
    Limb* rest = scratch + half();
    Limb carry[kLanes];
    Limb taken[kLanes];
    vector::twice(doubled, z, limbs());
    vector::subtract_once(z, doubled, n_.data(), carry, limbs(), rest);
    // Twice a number is even: the carry fits into its lowest bit. At most 2 (n - 1) + 1.
    vector::twice(doubled, z + half(), limbs());
    vector::add(doubled, doubled, carry, 1);
    vector::subtract_once(z + half(), doubled, n_.data(), taken, limbs(), rest);
}

void VectorPairs::multiply_and_fetch(Limb* z, const Limb* a, const Limb* b, Limb* scratch,
                                     const Fetch& next) const {
    Limb* t0 = scratch;
    Limb* t1 = t0 + 2 * half();
    Limb* m = t1 + 2 * half();
    next.part(0, 5);
    vector::multiply(t0, a, b, limbs());
    next.part(1, 5);
    vector::reduce(t0, m, modulus_);
    next.part(2, 5);
    vector::subtract_from(t1, lift_.data(), m, limbs());
    vector::multiply_onto_lower(t1, a, b + half(), limbs());
    next.part(3, 5);
    vector::multiply_onto(t1, a + half(), b, limbs());
    next.part(4, 5);
    vector::reduce(t1, m, modulus_);
    vector::clean(z, t0 + half(), limbs());
    vector::clean(z + half(), t1 + half(), limbs());
}

void VectorPairs::square(Limb* z, const Limb* a, Limb* scratch) const {
    Limb* t0 = scratch;
    Limb* t1 = t0 + 2 * half();
    Limb* m = t1 + 2 * half();
    Limb* doubled = m + half();
    vector::square(t0, a, limbs(), m);
    vector::reduce(t0, m, modulus_);
    vector::subtract_from(t1, lift_.data(), m, limbs());
    vector::twice(doubled, a + half(), limbs());
    vector::multiply_onto_lower(t1, a, doubled, limbs());
    vector::reduce(t1, m, modulus_);
    vector::clean(z, t0 + half(), limbs());
    vector::clean(z + half(), t1 + half(), limbs());
}

void VectorPairs::enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const {
    // x = the sum of x_i R^i with x_i below R: its form is the sum of x_i (R^(i+2) mod n^2) / R.
    const std::size_t digit_count = (vector::words_for(value_limbs) + limbs() - 1) / limbs();
    Limb* t0 = scratch;
    Limb* t1 = t0 + 2 * half();
    Limb* m = t1 + 2 * half();
    Limb* rest = m + half();
    Limb* digits = rest + half();
    split_into_digits(digits, values, value_limbs, limbs(), digit_count, digits + digit_count * half());
    vector::multiply(t0, digits, power_of_r(2), limbs());
    for (std::size_t i = 1; i < digit_count; ++i) {
        vector::multiply_onto(t0, digits + i * half(), power_of_r(i + 2), limbs());
    }
    vector::reduce(t0, m, modulus_);
    vector::subtract_from(t1, lift_.data(), m, limbs());
    vector::multiply_onto_lower(t1, digits, power_of_r(2) + half(), limbs());
    for (std::size_t i = 1; i < digit_count; ++i) {
        vector::multiply_onto(t1, digits + i * half(), power_of_r(i + 2) + half(), limbs());
    }
    vector::reduce(t1, m, modulus_);
    vector::clean(z, t0 + half(), limbs());
    vector::clean(z + half(), t1 + half(), limbs());
    // With d <= 5 digits u < (d + 1) n <= 6 n: 4 n and 2 n are taken off where they fit, and counted in v.
    Limb taken[kLanes];
    Limb* upper = z + half();
    vector::subtract_once(z, z, four_n_.data(), taken, limbs(), rest);
    for (int i = 0; i < 4; ++i) vector::add(upper, upper, taken, 1);
    vector::subtract_once(z, z, twice_n_.data(), taken, limbs(), rest);
    for (int i = 0; i < 2; ++i) vector::add(upper, upper, taken, 1);
    // v < (d + 1) n + 2, and 6 more: 6 n + 7 becomes 4 n - 1 or 2 n + 7, then 2 n - 1 or (for n = 3 only) 7,
    // then 2 n - 1.
    vector::clean(upper, upper, limbs());
    vector::subtract_once(upper, upper, four_n_.data(), taken, limbs(), rest);
    for (int i = 0; i < 2; ++i) vector::subtract_once(upper, upper, twice_n_.data(), taken, limbs(), rest);
}

void VectorPairs::leave_pair(Limb* z, const Limb* x, Limb* scratch) const {
    // The product with the pair (1, 0).
    Limb* t = scratch;
    Limb* m = t + 2 * half();
    Limb* upper = z + half();
    const auto divide = [&](Limb* to) {
        std::memset(t + half(), 0, half() * sizeof(Limb));
        vector::reduce(t, m, modulus_);
        vector::clean(to, t + half(), limbs());
    };
    // u <= (2 n - 1 + (R - 1) n) / R < n + 1, v <= (2 n - 1 + R + n + (R - 1) n) / R < n + 2, and 1 more by
    // the carry.
    std::memcpy(t, x, half() * sizeof(Limb));
    std::memmove(upper, x + half(), half() * sizeof(Limb));
    divide(z);
    vector::subtract_from(t, lift_.data(), m, limbs());
    vector::add(t, t, upper, limbs());
    divide(upper);
    make_canonical(z, scratch);
}

void VectorPairs::leave(Limb* const* values, const Limb* x, Limb* scratch) const {
    Limb* pair = scratch;
    Limb* product = pair + width();
    leave_pair(pair, x, product);
    vector::multiply(product, pair + half(), n_in_lanes_.data(), limbs());
    vector::add(product, product, pair, limbs());
    vector::clean(product, product, 2 * limbs());
    join_lanes(values, limb_count(), product, 2 * limbs(), product + width());
}

bool VectorPairs::invert(Limb* z, const Limb* x) const {
    // y with x y = 1 + e n mod n^2, from the inverse mod n: then x^-1 = y (1 - e n), one step of Newton's.
    SecretBuffer memory(scratch_count() + 3 * width() + half_limbs_ + limbs());
    Limb* group = memory.data();
    Limb* y = group + width();
    Limb* factor = y + width();
    Limb* scratch = factor + width();
    Limb* value = scratch + scratch_count();
    Limb* row = value + half_limbs_;
    const Limb* rows[kLanes];
    for (const Limb*& each : rows) each = x;
    gather(group, rows);
    leave_pair(factor, group, scratch);
    take_first_lane(row, factor, limbs());
    vector::join_limbs(value, half_limbs_, row, limbs());
    const bool found = invert_limbs(value, value, canonical_n_.data(), half_limbs_);
    for (const Limb*& each : rows) each = value;
    enter(y, rows, half_limbs_, scratch);
    multiply(factor, group, y, scratch);
    leave_pair(factor, factor, scratch);
    take_first_lane(row, factor + half(), limbs());
    subtract_plain(row, n_.data(), row, limbs());
    // The pair of 1 - e n as a number, and its form.
    vector::spread(factor + half(), row, limbs());
    multiply(factor, factor, power_of_r(2), scratch);
    multiply(group, y, factor, scratch);
    Limb* results[kLanes] = {z};
    scatter(results, group);
    return found;
}

}  // namespace hekat
