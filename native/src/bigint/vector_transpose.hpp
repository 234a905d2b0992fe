// Eight vectors of eight words as a square, turned.
#pragma once

#include "bigint/vector.hpp"

namespace hekat::vector {

// Word j of vector i becomes word i of vector j.
HEKAT_IFMA_INLINE void transpose(Vector (&x)[8]) {
    Vector pairs[8];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 8; i += 2) {
        pairs[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        pairs[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    // Columns c and c + 4, then c + 2 and c + 6, of rows 0 .. 3 and of rows 4 .. 7.
    Vector fours[2][4];
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
#pragma GCC unroll 2
        for (std::size_t c = 0; c < 2; ++c) {
            const Vector a = pairs[4 * half + c];
            const Vector b = pairs[4 * half + 2 + c];
            fours[half][c] = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
            fours[half][c + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
        }
    }
#pragma GCC unroll 4
    for (std::size_t c = 0; c < 4; ++c) {
        x[c] = __builtin_shufflevector(fours[0][c], fours[1][c], 0, 1, 4, 5, 8, 9, 12, 13);
        x[c + 4] = __builtin_shufflevector(fours[0][c], fours[1][c], 2, 3, 6, 7, 10, 11, 14, 15);
    }
}

}  // namespace hekat::vector
