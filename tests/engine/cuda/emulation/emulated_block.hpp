// Blocks in the emulation: a launch runs block after block, a phase thread after thread, in an order that
// changes from phase to phase and from block to block: what depends on it shows.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "emulated_call.hpp"

namespace hekat {

struct EmulatedBlock {
    u64 index;
    u32 threads;
    u64 phase;
    u64* shared;
};
inline thread_local EmulatedBlock emulated_block;

template <class Body>
inline void for_each_thread(const Body& body) {
    EmulatedBlock& block = emulated_block;
    const bool is_backward = ((block.index + block.phase++) & 1) != 0;
    for (u32 t = 0; t < block.threads; ++t) body(is_backward ? block.threads - 1 - t : t);
}

inline u64 block_index() { return emulated_block.index; }
inline u32 block_threads() { return emulated_block.threads; }
inline u64* shared_words() { return emulated_block.shared; }
inline u32 agree_on(const u32* word) { return *word; }
inline void or_into(u32* word, u32 bits) { *word |= bits; }
inline void add_into(u64* word, u64 addend) { *word += addend; }
inline u64 high_product(u64 a, u64 b) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<u64>(static_cast<Wide>(a) * b >> 64);
}
inline u32 count_ones(u32 word) { return static_cast<u32>(__builtin_popcount(word)); }
inline u32 rotate_left(u32 word, u32 bits) { return word << bits | word >> (32 - bits); }

template <class... Parameters>
inline void run_blocks(void (*kernel)(Parameters...), u64 block_count, u64 threads, u64 shared_bytes,
                       const u64* parameters) {
    // What was never written shows, and so does what is written behind the end.
    constexpr u64 kFill = 0xa5a5a5a5a5a5a5a5u;
    constexpr std::size_t kGuard = 64;
    const std::size_t words = (shared_bytes + 7) / 8;
    std::vector<u64> shared(words + kGuard);
    for (u64 index = 0; index < block_count; ++index) {
        std::fill(shared.begin(), shared.end(), kFill);
        emulated_block = {index, static_cast<u32>(threads), 0, shared.data()};
        call_kernel(kernel, parameters, std::index_sequence_for<Parameters...>());
        for (std::size_t i = words; i < shared.size(); ++i) {
            if (shared[i] != kFill) {
                std::fputs("a kernel wrote behind its shared memory\n", stderr);
                std::abort();
            }
        }
    }
}

}  // namespace hekat

#define HEKAT_EMULATED_BLOCK_KERNEL(name)                                                           \
    extern "C" void run_##name(hekat::u64 block_count, hekat::u64 threads, hekat::u64 shared_bytes, \
                               const hekat::u64* words) {                                           \
        hekat::run_blocks(&name, block_count, threads, shared_bytes, words);                        \
    }
