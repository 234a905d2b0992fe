// Fields of 1 to 50 bits, one after another from the least significant bit of the first byte on.
#pragma once

#include "transform.cuh"

namespace hekat {

// bytes = the first `count` fields of a row, each below 2^bits, padding bits zero; `bytes` may begin
// anywhere. A thread writes words of eight bytes, which are side by side in memory.
HEKAT_DEVICE void pack_fields(u8* bytes, const u64* row, u32 count, u32 bits) {
    for_each_thread([&](u32 thread) {
        const u32 byte_count = (count * bits + 7) / 8;
        const bool is_aligned = ((u64)bytes & 7) == 0;
        // Exact for all bits of a row: fewer than 2^19.
        const u64 reciprocal = ((u64)1 << 32) / bits + 1;
        for (u32 word = thread; 8 * word < byte_count; word += block_threads()) {
            u32 field = (u32)((64 * word * reciprocal) >> 32);
            u32 filled = bits - (64 * word - field * bits);
            u64 packed = row[slot(field)] >> (bits - filled);
            while (filled < 64 && ++field < count) {
                packed |= row[slot(field)] << filled;
                filled += bits;
            }
            if (is_aligned && 8 * word + 8 <= byte_count) {
                reinterpret_cast<u64*>(bytes)[word] = packed;
            } else {
                for (u32 i = 8 * word; i < byte_count && i < 8 * word + 8; ++i)
                    bytes[i] = (u8)(packed >> (8 * (i & 7)));
            }
        }
    });
}

// Bits [first, first + bits) of `bytes`, bits up to 50, by whole words: `end` is behind the last byte there
// is.
HEKAT_DEVICE u64 read_field(const u8* bytes, u64 first, u32 bits, const u8* end) {
    const u8* at = bytes + (first >> 3);
    const u32 before = (u32)((u64)at & 3);
    // From a pointer, not a number: so the compiler knows in which memory it lies.
    const u8* words = at - before;
    u32 parts[3] = {0, 0, 0};
    if (words + sizeof(parts) <= end) {
#pragma unroll
        for (int i = 0; i < 3; ++i) parts[i] = reinterpret_cast<const u32*>(words)[i];
    } else {
#pragma unroll
        for (int i = 0; i < 12; ++i) {
            if (words + i < end) parts[i / 4] |= (u32)words[i] << (8 * (i & 3));
        }
    }
    const u32 shift = (u32)(8 * before + (first & 7));
    const u64 low = (u64)parts[1] << 32 | parts[0];
    const u64 field = (low >> shift) | (((u64)parts[2] << 1) << (63 - shift));
    return field & (((u64)1 << bits) - 1);
}

}  // namespace hekat
