// Residues of a group, of either form: one number mod n, or a pair of numbers mod n for residues mod n^2.
//
// A residue x stands as x R mod its modulus. Compile option HEKAT_PAIRS: 1 for pairs, else 0. A row of a
// residue is kRowWords words, the lower half first. `constants` points at what `modulus_constants` wrote: the
// words of n, then R, R^2, ..., R^kPowers mod the modulus as rows.
#pragma once

#include "pairs.cuh"

#ifndef HEKAT_PAIRS
#define HEKAT_PAIRS 0
#endif

namespace hekat {

constexpr bool kPairs = HEKAT_PAIRS;
constexpr int kHalves = kPairs ? 2 : 1;
constexpr int kRowWords = kHalves * kWords;
constexpr int kPowers = 6;

struct Residue {
    Lane limbs[kHalves * kLimbs];
};

// What a kernel keeps of its modulus.
struct ModulusConstants {
    Reduction n;
    const u32* powers;
};

HEKAT_DEVICE ModulusConstants load_constants(const u32* constants) {
    ModulusConstants modulus;
    set_reduction(modulus.n, constants);
    modulus.powers = constants + kWords;
    return modulus;
}

HEKAT_DEVICE Residue load_residue(const u32* row) {
    Residue x;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) load_limbs(x.limbs + half * kLimbs, row + half * kWords);
    return x;
}

HEKAT_DEVICE void store_residue(u32* row, const Residue& x) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) store_limbs(row + half * kWords, x.limbs + half * kLimbs);
}

// R^power mod the modulus, power from 1 to kPowers; R^1 is what 1 stands as.
HEKAT_DEVICE Residue load_power_of_r(const ModulusConstants& modulus, u64 power) {
    return load_residue(modulus.powers + (power - 1) * kRowWords);
}

HEKAT_DEVICE void multiply(Residue& z, const Residue& a, const Residue& b, const ModulusConstants& modulus) {
    if (kPairs) {
        multiply_pairs(z.limbs, a.limbs, b.limbs, modulus.n);
    } else {
        multiply_numbers(z.limbs, a.limbs, b.limbs, modulus.n);
    }
}

HEKAT_DEVICE void square(Residue& z, const Residue& a, const ModulusConstants& modulus) {
    if (kPairs) {
        square_pair(z.limbs, a.limbs, modulus.n);
    } else {
        multiply_numbers(z.limbs, a.limbs, a.limbs, modulus.n);
    }
}

// z = digit b / R for a number digit below R.
HEKAT_DEVICE void multiply_digit(Residue& z, const Lane* digit, const Residue& b,
                                 const ModulusConstants& modulus) {
    if (kPairs) {
        multiply_by_number(z.limbs, digit, b.limbs, b.limbs + kLimbs, modulus.n);
    } else {
        multiply_numbers(z.limbs, digit, b.limbs, modulus.n);
    }
}

HEKAT_DEVICE void add_residues(Residue& z, const Residue& a, const Residue& b,
                               const ModulusConstants& modulus) {
    if (kPairs) {
        add_pairs(z.limbs, a.limbs, b.limbs, modulus.n);
    } else {
        const u32 high = add(z.limbs, a.limbs, b.limbs, 0);
        subtract_once(z.limbs, z.limbs, high, modulus.n.minus_modulus);
    }
}

// z (1 + l n) for a pair z: its upper half grows by z0 l. `number` stands as l R mod n.
HEKAT_DEVICE void multiply_one_plus(Residue& z, const Lane* number, const ModulusConstants& modulus) {
    Lane change[kLimbs];
    multiply_numbers(change, z.limbs, number, modulus.n);
    Lane* upper = z.limbs + (kHalves - 1) * kLimbs;
    const u32 high = add(upper, upper, change, 0);
    subtract_once(upper, upper, high, modulus.n.minus_modulus);
}

// Thread by thread a where flag is 1, else b.
HEKAT_DEVICE void select_residue(Residue& z, u32 flag, const Residue& a, const Residue& b) {
    const Lane is_a = flag;
#pragma unroll
    for (int i = 0; i < kHalves * kLimbs; ++i) z.limbs[i] = select(is_a, a.limbs[i], b.limbs[i]);
}

}  // namespace hekat
