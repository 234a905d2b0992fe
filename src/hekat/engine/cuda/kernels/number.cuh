// Numbers of kWords words spread over a group, lowest words in the first thread: sums with their carries.
#pragma once

#include "carry.cuh"

namespace hekat {

HEKAT_DEVICE void copy(Lane* z, const Lane* a) {
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) z[i] = a[i];
}

HEKAT_DEVICE void clear_number(Lane* z) {
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) z[i] = 0;
}

HEKAT_DEVICE void set_word(Lane* z, u32 word) {
    const Lane in_first = select(is_equal(thread_index(), 0), word, 0);
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) z[i] = i == 0 ? in_first : Lane(0);
}

// Takes the carries out of each thread's own limbs, 0 or 1, on to the threads above: z becomes z + the sum of
// carries in their places + carry_in; returns what runs over the group. No thread may have a carry and limbs
// that are all ones.
HEKAT_DEVICE u32 settle_carries(Lane* z, Lane carries, u32 carry_in) {
    if (kThreads == 1) {
        const Lane over = add_word<kLimbs>(z, carry_in);
        return ballot(carries | over);
    }
    Lane all = z[0];
#pragma unroll
    for (int i = 1; i < kLimbs; ++i) all &= z[i];
    const u64 passing = ballot(is_equal(all, 0xffffffffu));
    // Adding the carries, one place up, to the threads that pass them on: the adder does what the threads
    // would.
    const u64 sum = passing + (2 * (u64)ballot(carries) + carry_in);
    const u64 arriving = passing ^ sum;
    add_word<kLimbs>(z, own_bit(arriving));
    return (u32)(arriving >> kThreads) & 1;
}

// z = a + b + carry_in mod R; returns the carry out. z may be a or b.
HEKAT_DEVICE u32 add(Lane* z, const Lane* a, const Lane* b, u32 carry_in) {
    if (kThreads == 1) return ballot(add_limbs<kLimbs>(z, a, b, carry_in));
    // The carry into the first thread comes with the others: with it a thread could have a carry and all
    // ones.
    const Lane carries = add_limbs<kLimbs>(z, a, b, 0);
    return settle_carries(z, carries, carry_in);
}

// Thread by thread a where flag is 1, else b, flag being the same in the whole group.
HEKAT_DEVICE void select_number(Lane* z, u32 flag, const Lane* a, const Lane* b) {
    const Lane is_a = flag;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) z[i] = select(is_a, a[i], b[i]);
}

// z = high R + a, less the modulus where it is not below it: given high R + a < 2 modulus. minus_modulus is
// R - 1 - modulus. Returns whether it was taken off. z may be a.
HEKAT_DEVICE u32 subtract_once(Lane* z, const Lane* a, u32 high, const Lane* minus_modulus) {
    Lane less[kLimbs];
    const u32 reached = add(less, a, minus_modulus, 1) | high;
    select_number(z, reached, less, a);
    return reached;
}

}  // namespace hekat
