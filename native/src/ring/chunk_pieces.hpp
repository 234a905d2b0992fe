// A chunk's coefficients in pieces that stay in the first cache, and where each piece's lanes and bytes lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "ring/mask_format.hpp"

namespace hekat::ring {

inline constexpr std::size_t kPiece = 512;

// Coefficients [first, first + count) of a chunk.
struct Piece {
    std::size_t first;
    std::size_t count;
};

template <typename Work>
void for_pieces(std::size_t used, const Work& work) {
    for (std::size_t first = 0; first < used; first += kPiece) {
        work(Piece{first, std::min(kPiece, used - first)});
    }
}

// One row of something for each prime.
template <typename Item>
using Rows = std::array<Item*, kMaxPrimes>;

template <typename Item>
Rows<Item> rows_of(Item* items, std::size_t row_items, std::size_t prime_count) {
    Rows<Item> rows{};
    for (std::size_t i = 0; i < prime_count; ++i) rows[i] = items + i * row_items;
    return rows;
}

// The fields of a piece in a chunk's bytes: every piece begins with a byte.
template <typename Byte>
Rows<Byte> fields_of(Byte* chunk, const WrittenLayout& layout, std::size_t used, const Piece& piece) {
    Rows<Byte> places{};
    for (std::size_t i = 0; i < layout.fields.size(); ++i) {
        places[i] = chunk + layout.fields[i].bytes(piece.first);
        chunk += layout.fields[i].bytes(used);
    }
    return places;
}

// The coefficients [begin, end) of a piece whose lane j holds a value, and which of the chunk's values the
// first is. Before them is the count, in a chunk's lane 0; behind them lanes are zero.
struct LaneValues {
    LaneValues(const Piece& piece, unsigned j, std::size_t used, std::size_t value_count) {
        const std::size_t lane = j * used + piece.first;
        const std::size_t filled = value_count + 1;
        begin = lane == 0 ? 1 : 0;
        end = std::max(begin, std::min(piece.count, filled - std::min(lane, filled)));
        value = lane + begin - 1;
    }

    std::size_t begin;
    std::size_t end;
    std::size_t value;
};

}  // namespace hekat::ring
