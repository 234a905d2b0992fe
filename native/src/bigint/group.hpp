// Rows one after another as the pointers of a group.
#pragma once

#include <algorithm>
#include <array>

#include "bigint/residue_ring.hpp"

namespace hekat {

using ReadPointers = std::array<const Limb*, kMaxLanes>;
using WritePointers = std::array<Limb*, kMaxLanes>;

// Items of item_words words from first on; where there are fewer than lanes, the last stands for the missing.
inline ReadPointers reads_of(const Limb* first, std::size_t item_words, std::size_t count,
                             std::size_t lanes) {
    ReadPointers pointers{};
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        pointers[lane] = first + std::min(lane, count - 1) * item_words;
    }
    return pointers;
}

// The same to write to; nullptr for the missing.
inline WritePointers writes_of(Limb* first, std::size_t item_words, std::size_t count, std::size_t lanes) {
    WritePointers pointers{};
    for (std::size_t lane = 0; lane < std::min(count, lanes); ++lane)
        pointers[lane] = first + lane * item_words;
    return pointers;
}

}  // namespace hekat
