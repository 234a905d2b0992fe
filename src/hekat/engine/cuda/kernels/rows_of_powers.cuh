// Looking up a residue among rows of powers.
#pragma once

#include "residue.cuh"

namespace hekat {

// Row `digit` of `row_count`. Where `constant_time`, all rows are read, so that memory access does not tell
// the digit.
HEKAT_DEVICE Residue look_up(const u32* rows, u64 row_count, u32 digit, bool constant_time) {
    if (!constant_time) return load_residue(rows + (u64)digit * kRowWords);
    Residue found = load_residue(rows);
#pragma unroll 1
    for (u64 i = 1; i < row_count; ++i) {
        const Residue row = load_residue(rows + i * kRowWords);
        select_residue(found, digit == i, row, found);
    }
    return found;
}

}  // namespace hekat
