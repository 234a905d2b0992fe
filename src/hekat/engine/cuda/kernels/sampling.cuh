// Uniform residues and centred binomial numbers from key streams, eight at a time: a block of the stream is
// eight words.
#pragma once

#include "chacha20.cuh"
#include "prime.cuh"

namespace hekat {

constexpr u32 kGroup = kStreamWords / 2;
constexpr u32 kBinomialBits = 21;

// What sampling needs of shared memory besides what it fills: a flag, a total and a count for each thread.
struct SamplingRoom {
    u32 is_rejected;
    u32 total;
    u32 counts[kMostThreads];
};

// The words of block `counter` of a stream, masked to the bits of a prime.
HEKAT_DEVICE void candidates(u64 (&words)[kGroup], const Stream& stream, u32 counter, const Prime& prime) {
    stream_words(words, stream, counter);
    const u64 mask = ((u64)1 << prime.bits) - 1;
#pragma unroll
    for (u32 i = 0; i < kGroup; ++i) words[i] &= mask;
}

// The stream's words masked to the bits of a prime, those below it in their order: `degree` of them. Where
// none of the first `degree` is rejected, take_group(k, residues 8 k to 8 k + 7) gets them all, and true is
// the answer; else take(n, residue n) has got them in place of what take_group got. The key is public: time
// shows what is rejected.
template <class TakeGroup, class Take>
HEKAT_DEVICE bool sample_uniform(SamplingRoom* room, const Stream& stream, const Prime& prime, u32 degree,
                                 const TakeGroup& take_group, const Take& take) {
    for_each_thread([&](u32 thread) {
        if (thread == 0) room->is_rejected = 0;
    });
    for_each_thread([&](u32 thread) {
        for (u32 k = thread; k < degree / kGroup; k += block_threads()) {
            u64 words[kGroup];
            candidates(words, stream, k, prime);
            u64 all_below = ~(u64)0;
#pragma unroll
            for (u32 i = 0; i < kGroup; ++i) all_below &= words[i] - prime.value;
            if (all_below >> 63 == 0) or_into(&room->is_rejected, 1);
            take_group(k, words);
        }
    });
    if (agree_on(&room->is_rejected) == 0) return true;
    // Once more, with the place of every thread's words from the counts of those before it.
    u32 filled = 0;
    for (u32 first_block = 0; filled < degree; first_block += block_threads()) {
        for_each_thread([&](u32 thread) {
            u64 words[kGroup];
            candidates(words, stream, first_block + thread, prime);
            u32 count = 0;
#pragma unroll
            for (u32 i = 0; i < kGroup; ++i) count += words[i] < prime.value;
            room->counts[thread] = count;
        });
        for_each_thread([&](u32 thread) {
            u64 words[kGroup];
            candidates(words, stream, first_block + thread, prime);
            u32 place = filled;
            for (u32 i = 0; i < thread; ++i) place += room->counts[i];
#pragma unroll
            for (u32 i = 0; i < kGroup; ++i) {
                if (words[i] < prime.value) {
                    if (place < degree) take(place, words[i]);
                    ++place;
                }
            }
            if (thread == block_threads() - 1) room->total = place;
        });
        filled = agree_on(&room->total);
    }
    return false;
}

// Ones among bits 0 to 20 of a word, less those among bits 21 to 41.
HEKAT_DEVICE i32 binomial(u64 word) {
    const u32 mask = (1u << kBinomialBits) - 1;
    return (i32)count_ones((u32)word & mask) - (i32)count_ones((u32)(word >> kBinomialBits) & mask);
}

}  // namespace hekat
