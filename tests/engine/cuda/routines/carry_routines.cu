// The routines of carry.cuh as kernels: one group, of one thread, for each case.
//
// A case is a row of kParts numbers, read, worked on and written back: x, y, z, then what the routine takes
// besides, each as the lowest word of a number of its own.
#include "carry.cuh"

using namespace hekat;

static_assert(kThreads == 1, "a case has one thread");
constexpr int kParts = 7;

struct Case {
    Lane x[kLimbs], y[kLimbs], z[kLimbs];
    Lane first, second, third, fourth;
};

HEKAT_DEVICE Lane load_word(const u32* row) {
    Lane number[kLimbs];
    load_limbs(number, row);
    return number[0];
}

HEKAT_DEVICE void store_word(u32* row, const Lane& word) {
    Lane number[kLimbs];
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) number[i] = i == 0 ? word : Lane(0);
    store_limbs(row, number);
}

HEKAT_DEVICE Case load_case(const u32* row) {
    Case words;
    load_limbs(words.x, row);
    load_limbs(words.y, row + kLimbs);
    load_limbs(words.z, row + 2 * kLimbs);
    words.first = load_word(row + 3 * kLimbs);
    words.second = load_word(row + 4 * kLimbs);
    words.third = load_word(row + 5 * kLimbs);
    words.fourth = load_word(row + 6 * kLimbs);
    return words;
}

HEKAT_DEVICE void store_case(u32* row, const Case& words) {
    store_limbs(row, words.x);
    store_limbs(row + kLimbs, words.y);
    store_limbs(row + 2 * kLimbs, words.z);
    store_word(row + 3 * kLimbs, words.first);
    store_word(row + 4 * kLimbs, words.second);
    store_word(row + 5 * kLimbs, words.third);
    store_word(row + 6 * kLimbs, words.fourth);
}

#define HEKAT_CASE(name, call)                                \
    HEKAT_KERNEL(kBlockThreads) name(u32* cases, u64 count) { \
        if (group_index() >= count) return;                   \
        u32* row = cases + group_index() * kParts * kLimbs;   \
        Case c = load_case(row);                              \
        call;                                                 \
        store_case(row, c);                                   \
    }                                                         \
    HEKAT_GROUP_KERNEL(name)

HEKAT_CASE(case_multiply_add, multiply_add<kLimbs / 2>(c.x, c.y, c.first, c.second))
HEKAT_CASE(case_multiply_add_over, multiply_add_over<kLimbs / 2>(c.x, c.y, c.first, c.second, c.third))
HEKAT_CASE(case_shift_multiply_add,
           shift_multiply_add<kLimbs / 2>(c.first, c.x, c.y, c.second, c.third, c.fourth))
HEKAT_CASE(case_add_limbs, c.second = add_limbs<kLimbs>(c.z, c.x, c.y, c.first))
HEKAT_CASE(case_add_word, c.second = add_word<kLimbs>(c.x, c.first))
