// The transform of Z_p[X] / (X^N + 1) of one row of N residues in shared memory, and its inverse.
//
// A pass takes up to three levels at once: a thread holds all items that they combine. No sum is reduced on
// the way: of residues below 2 p a level of the transform makes no more than 2 p more, a level of the inverse
// twice as much, and 13 levels of that stay below 2^64. A product by a factor is below 2 p whatever it is of.
//
// Source: D. Harvey, "Faster arithmetic for number-theoretic transforms" (2014), for products that stay
// unreduced.
#pragma once

#include "prime.cuh"

namespace hekat {

// Where item n of a row lies in it, so that the items that threads side by side take, one after another,
// eight apart or in groups of eight, are in different banks. slot(a | b) = slot(a) ^ slot(b) where a and b
// share no bits.
HEKAT_DEVICE u32 slot(u32 n) { return n ^ ((n >> 4) & 7) ^ ((n >> 3) & 8); }

// The items that one thread of a pass holds: 2^levels of them, 2^step apart, from `base` on.
template <int levels>
HEKAT_DEVICE void load_items(u64 (&items)[1 << levels], const u64* row, u32 base, u32 step) {
    const u32 first = slot(base);
#pragma unroll
    for (u32 i = 0; i < 1u << levels; ++i) items[i] = row[first ^ slot(i << step)];
}
template <int levels>
HEKAT_DEVICE void store_items(u64* row, const u64 (&items)[1 << levels], u32 base, u32 step) {
    const u32 first = slot(base);
#pragma unroll
    for (u32 i = 0; i < 1u << levels; ++i) row[first ^ slot(i << step)] = items[i];
}

// Of part `part` of a pass: which group of butterflies it lies in, and its first item.
struct PassPart {
    u32 group;
    u32 base;
};
template <int levels>
HEKAT_DEVICE PassPart pass_part(u32 part, u32 step) {
    const u32 group = part >> step;
    return {group, (group << (step + levels)) | (part & ((1u << step) - 1))};
}

// The factors of a level whose items are 2^distance apart, of a thread in `group`, `above` more levels being
// above.
HEKAT_DEVICE const Factor* level_factors(const Factor* factors, u32 degree, u32 distance, u32 group,
                                         u32 above) {
    return factors + (degree >> (distance + 1)) + ((u64)group << above);
}

// The lower item of a butterfly whose items are 2^level apart.
HEKAT_DEVICE constexpr int first_of_pair(int pair, int level) {
    return ((pair >> level) << (level + 1)) | (pair & ((1 << level) - 1));
}

// Levels 2^step to 2^(step + levels - 1) of the inverse, from items below 2^(step + 1) p.
template <int levels>
HEKAT_DEVICE void invert_levels(u64 (&items)[1 << levels], const PrimeTable& table, u32 degree, u32 step,
                                u32 group) {
    const u64 p = table.prime.value;
#pragma unroll
    for (int level = 0; level < levels; ++level) {
        const Factor* factors = level_factors(table.inverse, degree, step + level, group, levels - 1 - level);
        const u64 lift = p << (step + level + 1);
#pragma unroll
        for (int pair = 0; pair < 1 << (levels - 1); ++pair) {
            const int i = first_of_pair(pair, level);
            const int j = i + (1 << level);
            const u64 x = items[i];
            items[i] = x + items[j];
            items[j] = multiply_by(x - items[j] + lift, factors[pair >> level], p);
        }
    }
}

// The same levels of the transform, the widest first; each adds up to 2 p.
template <int levels>
HEKAT_DEVICE void transform_levels(u64 (&items)[1 << levels], const PrimeTable& table, u32 degree, u32 step,
                                   u32 group) {
    const u64 p = table.prime.value;
#pragma unroll
    for (int level = levels - 1; level >= 0; --level) {
        const Factor* factors = level_factors(table.forward, degree, step + level, group, levels - 1 - level);
#pragma unroll
        for (int pair = 0; pair < 1 << (levels - 1); ++pair) {
            const int i = first_of_pair(pair, level);
            const int j = i + (1 << level);
            const u64 product = multiply_by(items[j], factors[pair >> level], p);
            items[j] = items[i] + 2 * p - product;
            items[i] += product;
        }
    }
}

// One pass of the inverse over a row. The last one divides by N and leaves canonical residues.
template <int levels>
HEKAT_DEVICE void invert_pass(u64* row, const PrimeTable& table, u32 degree, u32 step) {
    for_each_thread([&](u32 thread) {
        const u64 p = table.prime.value;
        for (u32 part = thread; part < degree >> levels; part += block_threads()) {
            const PassPart at = pass_part<levels>(part, step);
            u64 items[1 << levels];
            load_items<levels>(items, row, at.base, step);
            invert_levels<levels>(items, table, degree, step, at.group);
            if (degree >> (step + levels) == 1) {
                // The upper half is divided already, by the factor of the last level.
                const Factor share = table.inverse[0];
#pragma unroll
                for (int i = 0; i < 1 << levels; ++i) {
                    if (i < 1 << (levels - 1)) items[i] = multiply_by(items[i], share, p);
                    items[i] = reduce_once(items[i], p);
                }
            }
            store_items<levels>(row, items, at.base, step);
        }
    });
}

// One pass of the transform over a row. The last one, of items next to each other, leaves canonical residues.
template <int levels>
HEKAT_DEVICE void transform_pass(u64* row, const PrimeTable& table, u32 degree, u32 step) {
    for_each_thread([&](u32 thread) {
        for (u32 part = thread; part < degree >> levels; part += block_threads()) {
            const PassPart at = pass_part<levels>(part, step);
            u64 items[1 << levels];
            load_items<levels>(items, row, at.base, step);
            transform_levels<levels>(items, table, degree, step, at.group);
            if (step == 0) {
#pragma unroll
                for (int i = 0; i < 1 << levels; ++i) items[i] = reduce_word(items[i], table.prime);
            }
            store_items<levels>(row, items, at.base, step);
        }
    });
}

// A degree of 2^10 to 2^13 is three passes of three levels and one more, or two, for what is left: the widest
// levels.

// row = the coefficients of the element whose transform the row holds, behind its three first levels: items <
// 16 p.
HEKAT_DEVICE void finish_inverse(u64* row, const PrimeTable& table, u32 degree) {
    invert_pass<3>(row, table, degree, 3);
    invert_pass<3>(row, table, degree, 6);
    if (degree == 1024) return invert_pass<1>(row, table, degree, 9);
    if (degree == 2048) return invert_pass<2>(row, table, degree, 9);
    invert_pass<3>(row, table, degree, 9);
    if (degree == 8192) invert_pass<1>(row, table, degree, 12);
}

HEKAT_DEVICE void invert_transform(u64* row, const PrimeTable& table, u32 degree) {
    invert_pass<3>(row, table, degree, 0);
    finish_inverse(row, table, degree);
}

HEKAT_DEVICE void transform(u64* row, const PrimeTable& table, u32 degree) {
    if (degree == 8192) transform_pass<1>(row, table, degree, 12);
    if (degree >= 4096) transform_pass<3>(row, table, degree, 9);
    if (degree == 2048) transform_pass<2>(row, table, degree, 9);
    if (degree == 1024) transform_pass<1>(row, table, degree, 9);
    transform_pass<3>(row, table, degree, 6);
    transform_pass<3>(row, table, degree, 3);
    transform_pass<3>(row, table, degree, 0);
}

}  // namespace hekat
