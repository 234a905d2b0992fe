// How the threads of a block work together: phases between barriers, memory that they share.
//
// A kernel of blocks is a sequence of phases, each a body that every thread runs once; behind each phase is a
// barrier. In a phase no thread reads what another one writes in it. Between phases stand only values that
// are the same in all threads; a thread keeps its own values in memory. So the emulation, which runs a phase
// thread after thread, is exact, whatever the order of the threads.
#pragma once

#include "words.cuh"

#if defined(__CUDACC__)

// As HEKAT_KERNEL, but with registers for two blocks in a multiprocessor: 128 a thread where a block has 256
// threads. While the threads of one block wait at a barrier, the threads of the other work.
#define HEKAT_KERNEL_OF_TWO(threads) extern "C" __global__ void __launch_bounds__(threads, 2)

namespace hekat {

// The body for each thread of the block, with the thread's number; then all have done it.
template <class Body>
HEKAT_DEVICE void for_each_thread(const Body& body) {
    body((u32)threadIdx.x);
    __syncthreads();
}

HEKAT_DEVICE u64 block_index() { return blockIdx.x; }
HEKAT_DEVICE u32 block_threads() { return blockDim.x; }

// The memory that the block shares, on a boundary of 16 bytes: as many bytes as the launch says.
HEKAT_DEVICE u64* shared_words() {
    extern __shared__ __align__(16) u64 hekat_shared_words[];
    return hekat_shared_words;
}

// A word in shared memory, the same for all: read by all before any goes on to change it.
HEKAT_DEVICE u32 agree_on(const u32* word) {
    const u32 agreed = *word;
    __syncthreads();
    return agreed;
}

// *word |= bits; threads of one phase may do so at once.
HEKAT_DEVICE void or_into(u32* word, u32 bits) { atomicOr(word, bits); }

// *word += addend mod 2^64; threads of one phase may do so at once.
HEKAT_DEVICE void add_into(u64* word, u64 addend) { atomicAdd(word, addend); }

// floor(a b / 2^64).
HEKAT_DEVICE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }

HEKAT_DEVICE u32 count_ones(u32 word) { return __popc(word); }

HEKAT_DEVICE u32 rotate_left(u32 word, u32 bits) { return __funnelshift_l(word, word, bits); }

}  // namespace hekat

#else
#define HEKAT_KERNEL_OF_TWO(threads) HEKAT_KERNEL(threads)
#include HEKAT_EMULATED_BLOCK
#endif

namespace hekat {

// Threads of a block in kernels that work in blocks: these or fewer.
constexpr u32 kMostThreads = 256;

// x / divisor for a power of two.
HEKAT_DEVICE u64 divide_by_power(u64 x, u32 divisor) { return x >> count_ones(divisor - 1); }

// This thread's number in the whole launch.
HEKAT_DEVICE u64 launch_index(u32 thread) { return block_index() * block_threads() + thread; }

}  // namespace hekat
