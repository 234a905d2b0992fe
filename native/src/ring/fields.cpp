// Which fields make up each word of eight packed fields.
#include "ring/fields.hpp"

#include <algorithm>

namespace hekat::ring {

FieldLayout::FieldLayout(unsigned bits)
    : width(bits),
      mask((Limb{1} << bits) - 1),
      term_count(1),
      source{},
      left{},
      right{},
      read_from{},
      read_shift{} {
    for (unsigned word = 0; word < 8; ++word) {
        const unsigned first = 64 * word / bits;
        right[word] = first < 8 ? 64 * word - first * bits : 64;
        for (unsigned c = 0; c < 8; ++c) {
            const unsigned field = first + c;
            const bool is_in_word = field < 8 && field * bits < 64 * (word + 1);
            source[c][word] = field % 8;
            left[c][word] = is_in_word && c > 0 ? field * bits - 64 * word : 64;
            if (is_in_word) term_count = std::max(term_count, c + 1);
        }
        read_shift[word] = word * bits % 8;
        for (unsigned byte = 0; byte < 8; ++byte) {
            read_from[8 * word + byte] = static_cast<std::uint8_t>(word * bits / 8 + byte);
        }
    }
}

}  // namespace hekat::ring
