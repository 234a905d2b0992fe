// Fresh random integers from ChaCha20 under a seed of the operating system's. No variants.
//
// Item i has the streams of nonces (try, i), and nobody else has: a try that is refused tells nothing of the
// next.
#include "chacha20.cuh"

using namespace hekat;

constexpr u32 kBlockLimbs = kStreamWords / 2;

// out (count, limb_count) = uniform integers below 2^bits, one thread a block of the stream: block_count an
// item.
HEKAT_KERNEL(kMostThreads)
random_bits(u64* out, const u32* seed, u64 count, u64 limb_count, u64 bits, u64 block_count) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= count * block_count) return;
        const u64 item = index / block_count;
        const u32 block = (u32)(index - item * block_count);
        u64 words[kBlockLimbs];
        stream_words(words, stream_of(seed, 0, item), block);
#pragma unroll
        for (u32 i = 0; i < kBlockLimbs; ++i) {
            const u64 limb = (u64)block * kBlockLimbs + i;
            const u64 unused = limb + 1 == limb_count ? 64 * limb_count - bits : 0;
            if (limb < limb_count) out[item * limb_count + limb] = words[i] >> unused;
        }
    });
}
HEKAT_BLOCK_KERNEL(random_bits)

// out (count, limb_count) = uniform integers below bound, which has `bits` bits, one thread an item: try
// after try until one is below. How many it takes is all that time shows.
HEKAT_KERNEL(kMostThreads)
random_below(u64* out, const u32* seed, const u64* bound, u64 count, u64 limb_count, u64 bits) {
    for_each_thread([&](u32 thread) {
        const u64 item = launch_index(thread);
        if (item >= count) return;
        u64 is_below = 0;
        for (u32 attempt = 0; is_below == 0; ++attempt) {
            const Stream stream = stream_of(seed, attempt, item);
            u64 borrow = 0;
            for (u32 block = 0; (u64)block * kBlockLimbs < limb_count; ++block) {
                u64 words[kBlockLimbs];
                stream_words(words, stream, block);
#pragma unroll
                for (u32 i = 0; i < kBlockLimbs; ++i) {
                    const u64 limb = (u64)block * kBlockLimbs + i;
                    if (limb < limb_count) {
                        const u64 x = words[i] >> (limb + 1 == limb_count ? 64 * limb_count - bits : 0);
                        const u64 less = x - bound[limb];
                        // The borrow of x - bound - borrow.
                        borrow = (u64)(x < bound[limb]) | (u64)(less < borrow);
                        out[item * limb_count + limb] = x;
                    }
                }
            }
            is_below = borrow;
        }
    });
}
HEKAT_BLOCK_KERNEL(random_below)
