// The routines of number.cuh and rows.cuh as kernels: one group for each case.
//
// A case is a row of four numbers x, y, z, w of kWords words, read, worked on and written back. What a
// routine takes of each thread stands in the thread's lowest word of a number, what it takes of the group in
// the lowest of all.
#include "montgomery.cuh"

using namespace hekat;

constexpr int kParts = 4;

struct Case {
    Lane x[kLimbs], y[kLimbs], z[kLimbs], w[kLimbs];
};

HEKAT_DEVICE Case load_case(const u32* row) {
    Case c;
    load_limbs(c.x, row);
    load_limbs(c.y, row + kWords);
    load_limbs(c.z, row + 2 * kWords);
    load_limbs(c.w, row + 3 * kWords);
    return c;
}

HEKAT_DEVICE void store_case(u32* row, const Case& c) {
    store_limbs(row, c.x);
    store_limbs(row + kWords, c.y);
    store_limbs(row + 2 * kWords, c.z);
    store_limbs(row + 3 * kWords, c.w);
}

HEKAT_DEVICE u32 word_of_group(const Lane* number) { return read_thread(number[0], 0); }

// z = x y, its upper half in w, by rows whose words are taken off.
HEKAT_DEVICE void multiply_by_rows(Case& c) {
    Accumulator sum;
    clear(sum);
    clear_number(c.z);
#pragma unroll 1
    for (u32 source = 0; source < kThreads; ++source) {
        const Lane is_source = is_equal(thread_index(), source);
#pragma unroll
        for (int i = 0; i < kLimbs; i += 2) {
            begin_row(sum.even, sum.odd, sum.top, c.x, broadcast(c.y[i], source));
            c.z[i] = select(is_source, take_word(sum.even), c.z[i]);
            begin_row(sum.odd, sum.even, sum.top, c.x, broadcast(c.y[i + 1], source));
            c.z[i + 1] = select(is_source, take_word(sum.odd), c.z[i + 1]);
        }
    }
    finish_rows(c.w, sum);
}

// z + 2^(32 kWords) high = (x y + m w) / R; x becomes m and y high.
HEKAT_DEVICE void divide_by_rows(Case& c, const u32* modulus) {
    Reduction n;
    set_reduction(n, modulus);
    Lane quotient[kLimbs];
    clear_number(quotient);
    const u32 high = multiply_and_divide(c.z, quotient, c.x, c.y, n);
    copy(c.x, quotient);
    set_word(c.y, high);
}

#define HEKAT_CASE(name, call)                                                         \
    HEKAT_KERNEL(kBlockThreads) name(u32* cases, u64 count) {                          \
        const bool is_in = group_index() < count;                                      \
        u32* row = cases + (is_in ? group_index() : count - 1) * (u64)kParts * kWords; \
        Case c = load_case(row);                                                       \
        call;                                                                          \
        if (is_in) store_case(row, c);                                                 \
    }                                                                                  \
    HEKAT_GROUP_KERNEL(name)

HEKAT_CASE(case_settle_carries, set_word(c.w, settle_carries(c.x, c.y[0], word_of_group(c.z))))
HEKAT_CASE(case_add, set_word(c.w, add(c.x, c.x, c.y, word_of_group(c.z))))
HEKAT_CASE(case_subtract_once, set_word(c.w, subtract_once(c.x, c.x, word_of_group(c.z), c.y)))
HEKAT_CASE(case_multiply_by_rows, multiply_by_rows(c))
HEKAT_CASE(case_divide_by_rows, divide_by_rows(c, row + 3 * kWords))
