// How numbers get into lanes and out again: rows and transposition, 64-bit and 52-bit limbs, look-ups by
// lane.
#pragma once

#include "bigint/vector_kernels.hpp"

namespace hekat::vector {

// Words of 52 bits that hold any value of limb_count 64-bit limbs.
inline constexpr std::size_t words_for(std::size_t limb_count) {
    return (kLimbBits * limb_count + kLimbBits52 - 1) / kLimbBits52;
}

// Lane i of z = row i, `words` words each. Constant time.
void transpose_in(Limb* z, const Limb* const* rows, std::size_t words);

// Row i = lane i of x; a row that is nullptr is skipped. Constant time.
void transpose_out(Limb* const* rows, const Limb* x, std::size_t words);

// row (row_words clean limbs) = the value of limb_count 64-bit limbs, which fits. Constant time.
void split_limbs(Limb* row, std::size_t row_words, const Limb* value, std::size_t limb_count);

// value (limb_count 64-bit limbs) = the row of row_words clean limbs, which fits. Constant time.
void join_limbs(Limb* value, std::size_t limb_count, const Limb* row, std::size_t row_words);

// Lane i of z = lane i of the vector number table[indices[i]], `words` vectors each, one after another. All
// entry_count are read.
void select(Limb* z, const Limb* table, std::size_t entry_count, std::size_t words, const Limb* indices);

// The same, reading what it takes only.
void pick_vartime(Limb* z, const Limb* table, std::size_t words, const Limb* indices);

// A table for all lanes: word i of all entries one after another, then word i + 1 of all. entry_count is a
// power of two; where it is below kMinStride the rest is zero.
inline constexpr std::size_t kMinStride = 16;
inline constexpr std::size_t shared_stride(std::size_t entry_count) {
    return entry_count < kMinStride ? kMinStride : entry_count;
}

// Lane i of each of group_count vector numbers z, `words` vectors each, = entry indices[i] of a shared table,
// eight indices a group. The table is read whole, a word of all entries at a time for all groups.
void select_shared(Limb* z, const Limb* table, std::size_t entry_count, std::size_t words,
                   const Limb* indices, std::size_t group_count);

}  // namespace hekat::vector
