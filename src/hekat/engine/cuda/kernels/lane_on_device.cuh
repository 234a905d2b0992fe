// A Lane on the GPU: one register of each thread; words pass between threads by warp shuffles.
//
// Shuffles name the whole warp, so no thread of a warp may have left, and no group may be in another branch.
#pragma once

namespace hekat {

using Lane = u32;

constexpr u32 kWarp = 0xffffffffu;

// This thread's place in its group.
HEKAT_DEVICE Lane thread_index() { return threadIdx.x & (kThreads - 1); }

// This group's number in the whole launch.
HEKAT_DEVICE u64 group_index() {
    return (u64)blockIdx.x * (kBlockThreads / kThreads) + threadIdx.x / kThreads;
}

// The word of the thread `source` of the group, in all its threads.
HEKAT_DEVICE Lane broadcast(Lane word, u32 source) {
    return kThreads == 1 ? word : __shfl_sync(kWarp, word, source, kThreads);
}

// The same where it is used as one word of the group.
HEKAT_DEVICE u32 read_thread(Lane word, u32 source) { return broadcast(word, source); }

// The word of the next thread; 0 in the last.
HEKAT_DEVICE Lane from_above(Lane word) {
    if (kThreads == 1) return 0;
    const u32 above = __shfl_down_sync(kWarp, word, 1, kThreads);
    return thread_index() == kThreads - 1 ? 0 : above;
}

// The word of the thread before; 0 in the first.
HEKAT_DEVICE Lane from_below(Lane word) {
    if (kThreads == 1) return 0;
    const u32 below = __shfl_up_sync(kWarp, word, 1, kThreads);
    return thread_index() == 0 ? 0 : below;
}

// Bit t is set where thread t of the group has a flag other than 0.
HEKAT_DEVICE u32 ballot(Lane flag) {
    if (kThreads == 1) return flag != 0;
    const u32 warp = __ballot_sync(kWarp, flag != 0);
    const u32 first = threadIdx.x & 31 & ~(kThreads - 1);
    return (warp >> first) & (kWarp >> (32 - kThreads));
}

// Bit t of what is the same in all threads, in thread t.
HEKAT_DEVICE Lane own_bit(u64 bits) { return (u32)(bits >> thread_index()) & 1; }

// Whether any group of the warp has the flag set: the condition of a loop that all of them stay in.
HEKAT_DEVICE bool any_in_warp(bool flag) { return __any_sync(kWarp, flag); }

HEKAT_DEVICE Lane is_equal(Lane a, Lane b) { return a == b; }

// Thread by thread a where flag is not 0, else b.
HEKAT_DEVICE Lane select(Lane flag, Lane a, Lane b) { return flag ? a : b; }

// The limbs of this thread from a row of kWords words. Rows follow each other from a boundary of 16 bytes on,
// so that one of four limbs a thread begins on one too, and any on one of 8.
HEKAT_DEVICE void load_limbs(Lane* limbs, const u32* row) {
    const u32* own = row + thread_index() * kLimbs;
    if (kLimbs % 4 == 0) {
#pragma unroll
        for (int i = 0; i < kLimbs / 4; ++i) {
            const uint4 words = reinterpret_cast<const uint4*>(own)[i];
            limbs[4 * i] = words.x;
            limbs[4 * i + 1] = words.y;
            limbs[4 * i + 2] = words.z;
            limbs[4 * i + 3] = words.w;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < kLimbs / 2; ++i) {
        const uint2 words = reinterpret_cast<const uint2*>(own)[i];
        limbs[2 * i] = words.x;
        limbs[2 * i + 1] = words.y;
    }
}

// As load_limbs, of a row of word_count words, an even number; what lies beyond them is 0.
HEKAT_DEVICE void load_some_limbs(Lane* limbs, const u32* row, u64 word_count) {
    const u32 first = thread_index() * kLimbs;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) limbs[i] = first + i < word_count ? row[first + i] : 0;
}

HEKAT_DEVICE void store_limbs(u32* row, const Lane* limbs) {
    u32* own = row + thread_index() * kLimbs;
    if (kLimbs % 4 == 0) {
#pragma unroll
        for (int i = 0; i < kLimbs / 4; ++i) {
            reinterpret_cast<uint4*>(own)[i] =
                make_uint4(limbs[4 * i], limbs[4 * i + 1], limbs[4 * i + 2], limbs[4 * i + 3]);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < kLimbs / 2; ++i) {
        reinterpret_cast<uint2*>(own)[i] = make_uint2(limbs[2 * i], limbs[2 * i + 1]);
    }
}

HEKAT_DEVICE void store_some_limbs(u32* row, const Lane* limbs, u64 word_count) {
    const u32 first = thread_index() * kLimbs;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
        if (first + i < word_count) row[first + i] = limbs[i];
    }
}

// Bits [first, first + bits) of a number of word_count words, bits up to 16; what lies beyond them is 0.
HEKAT_DEVICE u32 read_bits(const u32* words, u64 word_count, u64 first, u32 bits) {
    const u64 at = first >> 5;
    const u32 low = at < word_count ? words[at] : 0;
    const u32 high = at + 1 < word_count ? words[at + 1] : 0;
    return __funnelshift_r(low, high, (u32)first & 31) & ((1u << bits) - 1);
}

}  // namespace hekat
