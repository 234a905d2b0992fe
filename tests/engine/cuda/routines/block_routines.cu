// Kernels that try what block.cuh says of blocks, and one that breaks its rule.
#include "block.cuh"

using namespace hekat;

// out[block][t] = the word of the next thread, written in a phase of its own.
HEKAT_KERNEL(kMostThreads) read_next(u32* out) {
    u32* words = reinterpret_cast<u32*>(shared_words());
    for_each_thread([&](u32 thread) { words[thread] = 7 * thread + 1; });
    for_each_thread([&](u32 thread) { out[launch_index(thread)] = words[(thread + 1) % block_threads()]; });
}
HEKAT_BLOCK_KERNEL(read_next)

// The same in one phase: what a thread finds depends on which goes first.
HEKAT_KERNEL(kMostThreads) read_next_too_early(u32* out) {
    u32* words = reinterpret_cast<u32*>(shared_words());
    for_each_thread([&](u32 thread) { words[thread] = 0; });
    for_each_thread([&](u32 thread) {
        words[thread] = 7 * thread + 1;
        out[launch_index(thread)] = words[(thread + 1) % block_threads()];
    });
}
HEKAT_BLOCK_KERNEL(read_next_too_early)

// out[block] = the flags of all threads, two bits each, seen by all.
HEKAT_KERNEL(kMostThreads) gather_flags(u32* out, u64 flags) {
    u32* gathered = reinterpret_cast<u32*>(shared_words());
    for_each_thread([&](u32 thread) {
        if (thread == 0) *gathered = 0;
    });
    for_each_thread([&](u32 thread) { or_into(gathered, (u32)(flags >> (2 * thread)) & 3); });
    const u32 seen = agree_on(gathered);
    for_each_thread([&](u32 thread) { out[launch_index(thread)] = seen; });
}
HEKAT_BLOCK_KERNEL(gather_flags)

// The routines that differ between the GPU and the emulation, of one pair of words a thread.
HEKAT_KERNEL(kMostThreads) try_routines(u64* out, const u64* a, const u64* b, u64 count) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= count) return;
        out[4 * index] = high_product(a[index], b[index]);
        out[4 * index + 1] = rotate_left((u32)a[index], 1 + (u32)(b[index] % 31));
        out[4 * index + 2] = count_ones((u32)a[index]);
        out[4 * index + 3] = divide_by_power(a[index], 1u << (b[index] & 31));
    });
}
HEKAT_BLOCK_KERNEL(try_routines)
