// Products row by row: an accumulator of a group, to which a row of products is added and which then moves
// one word down.
//
// A thread's columns are sums of two words: `even` begins at its first column, `odd` at its second, so that
// all products of one row go into aligned pairs of columns, in two chains of carries. Moving down by a word
// turns even columns into odd ones: the two arrays change roles, nothing is copied. In units of its first
// column a thread holds
//     even + odd 2^32 + top 2^(32 (kLimbs + 1)) < 4 2^(32 kLimbs) between rows, where top is at most a few.
//
// Source: Montgomery's CIOS; even and odd columns as in N. Emmart's CGBN and Supranational's sppark.
#pragma once

#include "number.cuh"

namespace hekat {

struct Accumulator {
    Lane even[kLimbs];
    Lane odd[kLimbs];
    Lane top;
};

// Between rows `odd` holds the even columns of the last row, whose first word moves on to the thread below.
HEKAT_DEVICE void begin_row(Lane* even, Lane* odd, Lane& top, const Lane* a, Lane word) {
    const Lane incoming = from_above(odd[0]);
    shift_multiply_add<kLimbs / 2>(even[0], odd, a + 1, word, incoming, top);
    multiply_add_over<kLimbs / 2>(even, a, word, odd[kLimbs - 1], top);
}

HEKAT_DEVICE void add_row(Lane* even, Lane* odd, Lane& top, const Lane* a, Lane word) {
    multiply_add<kLimbs / 2>(odd, a + 1, word, top);
    multiply_add_over<kLimbs / 2>(even, a, word, odd[kLimbs - 1], top);
}

// The lowest word of a row, in all threads, taken off it: it is a word of the result.
HEKAT_DEVICE Lane take_word(Lane* even) {
    const Lane word = broadcast(even[0], 0);
    even[0] = select(is_equal(thread_index(), 0), 0, even[0]);
    return word;
}

HEKAT_DEVICE void clear(Accumulator& sum) {
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) sum.even[i] = sum.odd[i] = 0;
    sum.top = 0;
}

// The number that an accumulator holds after its last row, moved down by that row's word: z, and what is
// above R.
HEKAT_DEVICE u32 finish_rows(Lane* z, Accumulator& sum) {
    // After an even number of rows `odd` holds even columns again, as at the beginning of a row.
    const Lane incoming = from_above(sum.odd[0]);
#pragma unroll
    for (int i = 0; i < kLimbs - 1; ++i) z[i] = sum.odd[i + 1];
    z[kLimbs - 1] = incoming;
    const Lane over = sum.top + add_limbs<kLimbs>(z, z, sum.even, 0);
    const u32 high = read_thread(over, kThreads - 1);
    const Lane carries = add_word<kLimbs>(z, from_below(over));
    return high + settle_carries(z, carries, 0);
}

// upper R + lower = a b + what stands in `sum`, below R^2.
HEKAT_DEVICE void multiply_out(Lane* lower, Lane* upper, Accumulator& sum, const Lane* a, const Lane* b) {
    clear_number(lower);
#pragma unroll 1
    for (u32 source = 0; source < kThreads; ++source) {
        const Lane is_source = is_equal(thread_index(), source);
#pragma unroll
        for (int i = 0; i < kLimbs; i += 2) {
            begin_row(sum.even, sum.odd, sum.top, a, broadcast(b[i], source));
            lower[i] = select(is_source, take_word(sum.even), lower[i]);
            begin_row(sum.odd, sum.even, sum.top, a, broadcast(b[i + 1], source));
            lower[i + 1] = select(is_source, take_word(sum.odd), lower[i + 1]);
        }
    }
    finish_rows(upper, sum);
}

}  // namespace hekat
