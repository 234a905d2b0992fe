// Rows into lanes and back, tables, and the sizes of vector numbers.
#include "bigint/vector_ring.hpp"

#include <cstring>

#include "bigint/vector_layout.hpp"

namespace hekat {

using vector::kLanes;

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

Limb negative_inverse52(Limb n) {
    Limb inverse = n;  // right in its low 3 bits; every step doubles them
    for (int step = 0; step < 5; ++step) inverse *= 2 - n * inverse;
    return (Limb{0} - inverse) & vector::kLimbMask52;
}

}  // namespace hekat
