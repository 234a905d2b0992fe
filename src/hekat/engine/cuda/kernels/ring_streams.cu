// Key streams, uniform elements and centred binomial numbers. No variants: any degree and prime at run time.
#include "sampling.cuh"

using namespace hekat;

// out (a multiple of 16 words) = word_count / 16 blocks of the key stream from `counter` on; one a thread.
HEKAT_KERNEL(kMostThreads)
chacha20(u32* out, u64 word_count, const u32* key, u64 counter, u64 nonce_low, u64 nonce_high) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= word_count / kStreamWords) return;
        u32 block[kStreamWords];
        stream_block(block, stream_of(key, (u32)nonce_low, nonce_high), (u32)(counter + index));
#pragma unroll
        for (u32 i = 0; i < kStreamWords; ++i) out[index * kStreamWords + i] = block[i];
    });
}
HEKAT_BLOCK_KERNEL(chacha20)

// out (chunks, primes, degree), one block a row: the uniform residues of chunks from first_chunk on.
HEKAT_KERNEL(kMostThreads)
expand_uniform(u64* out, const u32* key, u64 first_chunk, const u64* ring, u64 degree_, u64 prime_count) {
    const u32 degree = (u32)degree_;
    const u32 number = prime_of_row(block_index(), (u32)prime_count);
    const Prime prime = load_prime(ring, number, degree).prime;
    u64* row = out + block_index() * degree;
    sample_uniform(
        reinterpret_cast<SamplingRoom*>(shared_words()),
        stream_of(key, number, first_chunk + element_of_row(block_index(), (u32)prime_count)), prime, degree,
        [&](u32 k, const u64(&words)[kGroup]) {
#pragma unroll
            for (u32 i = 0; i < kGroup; ++i) row[k * kGroup + i] = words[i];
        },
        [&](u32 n, u64 residue) { row[n] = residue; });
}
HEKAT_BLOCK_KERNEL(expand_uniform)

// out (chunks, degree), eight numbers a thread: `group_count` of them.
HEKAT_KERNEL(kMostThreads)
sample_cbd(u64* out, const u32* key, u64 first_chunk, u64 degree, u64 group_count) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= group_count) return;
        const u32 groups = (u32)degree / kGroup;  // a power of two
        u64 words[kGroup];
        stream_words(words, stream_of(key, kErrorStream, first_chunk + divide_by_power(index, groups)),
                     (u32)index & (groups - 1));
        u64 packed = 0;
#pragma unroll
        for (u32 i = 0; i < kGroup; ++i) packed |= (u64)((u32)binomial(words[i]) & 0xff) << (8 * i);
        out[index] = packed;
    });
}
HEKAT_BLOCK_KERNEL(sample_cbd)
