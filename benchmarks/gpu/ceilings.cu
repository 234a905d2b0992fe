// What a GPU's multipliers can do at most: multiply-adds of 32-bit words alone, none of whose results is
// waited for.
#include "carry.cuh"

using namespace hekat;

constexpr int kChains = 8;
constexpr int kUnrolled = 16;

// Sums of two words without carries out: `rounds` times kUnrolled * kChains wide multiply-adds a thread.
HEKAT_KERNEL(kBlockThreads) wide_multiply_adds(u64* out, u64 rounds) {
    u32 low[kChains], high[kChains];
    const u32 b = threadIdx.x + 5;
#pragma unroll
    for (int i = 0; i < kChains; ++i) low[i] = high[i] = blockIdx.x + i;
#pragma unroll 1
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < kUnrolled * kChains; ++i) {
            u32 &lower = low[i % kChains], &upper = high[i % kChains];
            // A factor that changes: the product of two that stay would be taken once. Written as mad.wide,
            // the compiler parts it into a product and two sums.
            const u32 a = high[(i + 1) % kChains];
            asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;" : "+r"(lower) : "r"(a), "r"(b));
            asm volatile("madc.hi.u32 %0, %1, %2, %0;" : "+r"(upper) : "r"(a), "r"(b));
        }
    }
    u32 total = 0;
#pragma unroll
    for (int i = 0; i < kChains; ++i) total ^= low[i] ^ high[i];
    out[(u64)blockIdx.x * kBlockThreads + threadIdx.x] = total;
}

// The same number in chains with carries, as products of numbers have them: kLimbs / 2 multiply-adds to a
// chain.
HEKAT_KERNEL(kBlockThreads) chained_multiply_adds(u64* out, u64 rounds) {
    Lane even[kLimbs], odd[kLimbs], a[kLimbs];
    Lane top = 0;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
        even[i] = odd[i] = i;
        a[i] = threadIdx.x + i;
    }
    constexpr int kRepeats = kUnrolled * kChains / kLimbs;
#pragma unroll 1
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < kRepeats; ++i) {
            multiply_add<kLimbs / 2>(even, a, (u32)blockIdx.x + i, top);
            multiply_add<kLimbs / 2>(odd, a + 1, (u32)blockIdx.x + i, top);
        }
    }
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) top ^= even[i] ^ odd[i];
    out[(u64)blockIdx.x * kBlockThreads + threadIdx.x] = top;
}
