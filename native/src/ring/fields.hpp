// Numbers of a fixed number of bits, one after another from the least significant bit of the first byte on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bigint/limb.hpp"

namespace hekat::ring {

// Fields of `bits` bits, 1 to 50. Eight of them are `bits` bytes: so the vector path moves them, by what
// stands here for each width.
struct FieldLayout {
    explicit FieldLayout(unsigned bits);

    std::size_t bytes(std::size_t count) const { return (count * width + 7) / 8; }

    unsigned width;
    Limb mask;
    // To write: word k of the bytes is the sum over c < term_count of field source[c][k], shifted right by
    // right[k] for c = 0, left by left[c][k] for the others; a shift by 64 leaves nothing.
    unsigned term_count;
    alignas(64) Limb source[8][8];
    alignas(64) Limb left[8][8];
    alignas(64) Limb right[8];
    // To read: field f begins in byte read_from[8 f], behind read_shift[f] bits.
    alignas(64) std::uint8_t read_from[64];
    alignas(64) Limb read_shift[8];
};

}  // namespace hekat::ring
