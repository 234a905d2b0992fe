// Chains of carries through the limbs of one thread: the only inline PTX there is.
//
// `mad.lo.cc` and `madc.hi.cc` of the same factors become one wide multiply-add (IMAD.WIDE.U32.X) with carry
// in and out. The carry flag lives from one asm statement to the next: the compiler keeps volatile ones in
// order and emits nothing that sets the flag between them, as long as nothing here is an integer of 128 bits.
// (Before CUDA 11.5.1 such chains were miscompiled.)
//
// Each routine has a twin in plain C++ for the emulation; tests/engine/cuda/routines/test_carry_ptx.py runs
// the PTX that the compiler makes of these against it.
#pragma once

#include "lane.cuh"

namespace hekat {

#if defined(__CUDACC__)

// One instruction a statement, so that no output can share a register with an input of a later one.
#define HEKAT_CARRY_3(instruction, z, x, y) \
    asm volatile(instruction " %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y))
#define HEKAT_CARRY_4(instruction, z, x, y, w) \
    asm volatile(instruction " %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(w))

// acc (2 pairs words) += the sum of a[2 i] b 2^(64 i); leaves the carry in the flag.
template <int pairs>
HEKAT_DEVICE void multiply_add_chain(Lane* acc, const Lane* a, Lane b) {
    HEKAT_CARRY_4("mad.lo.cc.u32", acc[0], a[0], b, acc[0]);
    HEKAT_CARRY_4("madc.hi.cc.u32", acc[1], a[0], b, acc[1]);
#pragma unroll
    for (int i = 1; i < pairs; ++i) {
        HEKAT_CARRY_4("madc.lo.cc.u32", acc[2 * i], a[2 * i], b, acc[2 * i]);
        HEKAT_CARRY_4("madc.hi.cc.u32", acc[2 * i + 1], a[2 * i], b, acc[2 * i + 1]);
    }
}

// acc (2 pairs words) += the sum of a[2 i] b 2^(64 i); the carry is added to `over`, and its carry to `top`.
template <int pairs>
HEKAT_DEVICE void multiply_add_over(Lane* acc, const Lane* a, Lane b, Lane& over, Lane& top) {
    multiply_add_chain<pairs>(acc, a, b);
    HEKAT_CARRY_3("addc.cc.u32", over, over, 0);
    HEKAT_CARRY_3("addc.u32", top, top, 0);
}

// acc (2 pairs words) += the sum of a[2 i] b 2^(64 i); the carry is added to `top`.
template <int pairs>
HEKAT_DEVICE void multiply_add(Lane* acc, const Lane* a, Lane b, Lane& top) {
    multiply_add_chain<pairs>(acc, a, b);
    HEKAT_CARRY_3("addc.u32", top, top, 0);
}

// first += acc[1]; then, with the carry, acc = (acc / 2^64, with `incoming` and `top` for its two highest
// words)
// + the sum of a[2 i] b 2^(64 i); `top` becomes the carry.
template <int pairs>
HEKAT_DEVICE void shift_multiply_add(Lane& first, Lane* acc, const Lane* a, Lane b, Lane incoming,
                                     Lane& top) {
    HEKAT_CARRY_3("add.cc.u32", first, first, acc[1]);
#pragma unroll
    for (int i = 0; i < pairs - 1; ++i) {
        HEKAT_CARRY_4("madc.lo.cc.u32", acc[2 * i], a[2 * i], b, acc[2 * i + 2]);
        HEKAT_CARRY_4("madc.hi.cc.u32", acc[2 * i + 1], a[2 * i], b, acc[2 * i + 3]);
    }
    HEKAT_CARRY_4("madc.lo.cc.u32", acc[2 * pairs - 2], a[2 * pairs - 2], b, incoming);
    HEKAT_CARRY_4("madc.hi.cc.u32", acc[2 * pairs - 1], a[2 * pairs - 2], b, top);
    HEKAT_CARRY_3("addc.u32", top, 0, 0);
}

// z = a + b + carry over `limbs` words; returns the carry out. carry is 0 or 1.
template <int limbs>
HEKAT_DEVICE Lane add_limbs(Lane* z, const Lane* a, const Lane* b, Lane carry) {
    // Sets the flag where there is one.
    HEKAT_CARRY_3("add.cc.u32", carry, carry, kWarp);
#pragma unroll
    for (int i = 0; i < limbs; ++i) HEKAT_CARRY_3("addc.cc.u32", z[i], a[i], b[i]);
    HEKAT_CARRY_3("addc.u32", carry, 0, 0);
    return carry;
}

// z += word over `limbs` words; returns the carry out.
template <int limbs>
HEKAT_DEVICE Lane add_word(Lane* z, Lane word) {
    HEKAT_CARRY_3("add.cc.u32", z[0], z[0], word);
#pragma unroll
    for (int i = 1; i < limbs; ++i) HEKAT_CARRY_3("addc.cc.u32", z[i], z[i], 0);
    Lane carry;
    HEKAT_CARRY_3("addc.u32", carry, 0, 0);
    return carry;
}

#undef HEKAT_CARRY_3
#undef HEKAT_CARRY_4

#else

// In one word of each thread: *low, *high += a b + carry, where *low is the lower word; returns the carry
// out.
inline u32 step(u32* low, u32* high, u32 a, u32 b, u32 carry) {
    const u64 product = static_cast<u64>(a) * b;
    const u64 lower = static_cast<u64>(*low) + static_cast<u32>(product) + carry;
    const u64 upper = static_cast<u64>(*high) + (product >> 32) + (lower >> 32);
    *low = static_cast<u32>(lower);
    *high = static_cast<u32>(upper);
    return static_cast<u32>(upper >> 32);
}

template <int pairs>
inline void multiply_add_over(Lane* acc, const Lane* a, const Lane& b, Lane& over, Lane& top) {
    for (int t = 0; t < kThreads; ++t) {
        u32 carry = 0;
        for (int i = 0; i < pairs; ++i) {
            carry =
                step(&acc[2 * i].words[t], &acc[2 * i + 1].words[t], a[2 * i].words[t], b.words[t], carry);
        }
        over.words[t] += carry;
        top.words[t] += over.words[t] < carry;
    }
}

template <int pairs>
inline void multiply_add(Lane* acc, const Lane* a, const Lane& b, Lane& top) {
    for (int t = 0; t < kThreads; ++t) {
        u32 carry = 0;
        for (int i = 0; i < pairs; ++i) {
            carry =
                step(&acc[2 * i].words[t], &acc[2 * i + 1].words[t], a[2 * i].words[t], b.words[t], carry);
        }
        top.words[t] += carry;
    }
}

template <int pairs>
inline void shift_multiply_add(Lane& first, Lane* acc, const Lane* a, const Lane& b, const Lane& incoming,
                               Lane& top) {
    for (int t = 0; t < kThreads; ++t) {
        first.words[t] += acc[1].words[t];
        u32 carry = first.words[t] < acc[1].words[t];
        for (int i = 0; i < pairs; ++i) {
            const bool is_last = i == pairs - 1;
            acc[2 * i].words[t] = is_last ? incoming.words[t] : acc[2 * i + 2].words[t];
            acc[2 * i + 1].words[t] = is_last ? top.words[t] : acc[2 * i + 3].words[t];
            carry =
                step(&acc[2 * i].words[t], &acc[2 * i + 1].words[t], a[2 * i].words[t], b.words[t], carry);
        }
        top.words[t] = carry;
    }
}

template <int limbs>
inline Lane add_limbs(Lane* z, const Lane* a, const Lane* b, const Lane& carry_in) {
    return each([&](int t) {
        u64 sum = carry_in.words[t];
        for (int i = 0; i < limbs; ++i) {
            sum += static_cast<u64>(a[i].words[t]) + b[i].words[t];
            z[i].words[t] = static_cast<u32>(sum);
            sum >>= 32;
        }
        return static_cast<u32>(sum);
    });
}

template <int limbs>
inline Lane add_word(Lane* z, const Lane& word) {
    return each([&](int t) {
        u64 sum = word.words[t];
        for (int i = 0; i < limbs; ++i) {
            sum += z[i].words[t];
            z[i].words[t] = static_cast<u32>(sum);
            sum >>= 32;
        }
        return static_cast<u32>(sum);
    });
}

#endif

}  // namespace hekat
