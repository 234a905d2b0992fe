// Rows into lanes and back, tables, and the sizes of vector numbers.
#include "bigint/vector_ring.hpp"

#include <cstring>

#include "bigint/vector_layout.hpp"

namespace hekat {

using vector::kLanes;

namespace {

constexpr double kMultiplyAddsPerNs = 5;  // a round figure: chunks and windows hang on it
constexpr unsigned kSquarings = 2;        // of a power of two, on the way to R^2

}  // namespace

VectorRing::VectorRing(std::size_t limb_count, std::size_t row_limbs, VectorSize size)
    : ResidueRing({kLanes, limb_count, row_limbs, kLanes * row_limbs}),
      size_(size),
      powers_of_r_((size.max_digits + 1) * width()),
      one_row_(row_limbs) {}

void VectorRing::fill_first_power_of_r(std::size_t n_bits) {
    // By doubling the highest power of two below n.
    SecretBuffer scratch(scratch_count());
    Limb* r = powers_of_r_.data();
    const std::size_t top = n_bits - 1;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        r[top / vector::kLimbBits52 * kLanes + lane] = Limb{1} << top % vector::kLimbBits52;
    }
    for (std::size_t bit = top; bit < vector::kLimbBits52 * limbs(); ++bit)
        double_canonical(r, scratch.data());
    Limb* rows[kLanes] = {one_row_.data()};
    scatter(rows, r);
}

void VectorRing::fill_higher_powers_of_r() {
    // R^2 by doubling R until squarings can do the rest: each takes 2^k R to 2^(2k) R.
    SecretBuffer scratch(scratch_count());
    Limb* r2 = powers_of_r_.data() + width();
    std::memcpy(r2, one(), width() * sizeof(Limb));
    const std::size_t doublings = vector::kLimbBits52 * limbs() >> kSquarings;
    for (std::size_t i = 0; i < doublings; ++i) double_canonical(r2, scratch.data());
    for (unsigned i = 0; i < kSquarings; ++i) square(r2, r2, scratch.data());
    make_canonical(r2, scratch.data());
    for (std::size_t i = 3; i <= max_digits() + 1; ++i) {
        Limb* power = powers_of_r_.data() + (i - 1) * width();
        multiply(power, power_of_r(i - 1), r2, scratch.data());
        make_canonical(power, scratch.data());
    }
}

double VectorRing::product_ns_of(double multiply_adds) const {
    return multiply_adds / kLanes / kMultiplyAddsPerNs + static_cast<double>(row_limbs());
}

void VectorRing::gather(Limb* z, const Limb* const* rows) const {
    vector::transpose_in(z, rows, row_limbs());
}

void VectorRing::scatter(Limb* const* rows, const Limb* x) const {
    vector::transpose_out(rows, x, row_limbs());
}

void VectorRing::select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const {
    vector::select(z, table, entry_count, row_limbs(), indices);
}

void VectorRing::pick_vartime(Limb* z, const Limb* table, const Limb* indices) const {
    vector::pick_vartime(z, table, row_limbs(), indices);
}

std::size_t VectorRing::shared_table_words(std::size_t entry_count) const {
    return vector::shared_stride(entry_count) * row_limbs();
}

void VectorRing::put_shared(Limb* table, std::size_t entry_count, std::size_t index, const Limb* row) const {
    const std::size_t stride = vector::shared_stride(entry_count);
    for (std::size_t i = 0; i < row_limbs(); ++i) table[i * stride + index] = row[i];
}

void VectorRing::select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                               std::size_t group_count) const {
    vector::select_shared(z, table, entry_count, row_limbs(), indices, group_count);
}

VectorSize vector_size(std::size_t modulus_bits, std::size_t limb_count, unsigned spare_bits) {
    const std::size_t words = vector::words_for(2 * limb_count);
    std::size_t limbs = (modulus_bits + spare_bits + vector::kLimbBits52 - 1) / vector::kLimbBits52;
    while (true) {
        const std::size_t digits = (words + limbs - 1) / limbs;
        const std::size_t spare = vector::kLimbBits52 * limbs - modulus_bits;
        if (spare >= 8 || digits < std::size_t{1} << spare) return {limbs, digits};
        ++limbs;
    }
}

void split_into_digits(Limb* z, const Limb* const* values, std::size_t value_limbs, std::size_t limbs,
                       std::size_t digit_count, Limb* rows) {
    const std::size_t words = digit_count * limbs;
    const Limb* lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        vector::split_limbs(rows + lane * words, words, values[lane], value_limbs);
        lanes[lane] = rows + lane * words;
    }
    vector::transpose_in(z, lanes, words);
}

void join_lanes(Limb* const* values, std::size_t limb_count, const Limb* x, std::size_t limbs, Limb* rows) {
    Limb* lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = values[lane] == nullptr ? nullptr : rows + lane * limbs;
    }
    vector::transpose_out(lanes, x, limbs);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (values[lane] != nullptr) vector::join_limbs(values[lane], limb_count, lanes[lane], limbs);
    }
}

void twice_plain(Limb* z, const Limb* x, std::size_t limbs) {
    Limb carry = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
        const Limb twice = 2 * x[i] + carry;
        z[i] = twice & vector::kLimbMask52;
        carry = twice >> vector::kLimbBits52;
    }
}

Limb negative_inverse52(Limb n) {
    Limb inverse = n;  // right in its low 3 bits; every step doubles them
    for (int step = 0; step < 5; ++step) inverse *= 2 - n * inverse;
    return (Limb{0} - inverse) & vector::kLimbMask52;
}

}  // namespace hekat
