// Canonical integers into residues, and back.
#include "residue.cuh"

using namespace hekat;

// out[i] = the residue of values[i], of any size: value_words words, an even number of at most (kPowers - 1)
// kWords.
HEKAT_KERNEL(kBlockThreads)
enter(u32* out, const u32* values, u64 value_words, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const u64 index = group_index() < count ? group_index() : count - 1;
    const u32* value = values + index * value_words;
    // x = the sum of digits x_i R^i: it stands as the sum of x_i R^(i+2) / R.
    Residue sum;
    for (u64 i = 0; i * kWords < value_words; ++i) {
        Lane digit[kLimbs];
        load_some_limbs(digit, value + i * kWords, value_words - i * kWords);
        Residue part;
        multiply_digit(part, digit, load_power_of_r(modulus, i + 2), modulus);
        if (i == 0) {
            sum = part;
        } else {
            add_residues(sum, sum, part, modulus);
        }
    }
    if (group_index() < count) store_residue(out + index * kRowWords, sum);
}
HEKAT_GROUP_KERNEL(enter)

// values[i] = the residue a[i] as an integer of value_words words: as many as the modulus needs, an even
// number.
HEKAT_KERNEL(kBlockThreads)
leave(u32* values, u64 value_words, const u32* a, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    Residue x = load_residue(a + index * kRowWords);
    Lane one[kLimbs];
    set_word(one, 1);
    multiply_digit(x, one, x, modulus);
    u32* value = values + index * value_words;
    if (!kPairs) {
        if (is_in) store_some_limbs(value, x.limbs, value_words);
        return;
    }
    // x0 + x1 n, word by word from the lowest.
    Accumulator sum;
    clear(sum);
    copy(sum.even, x.limbs);
    Lane lower[kLimbs];
    Lane upper[kLimbs];
    multiply_out(lower, upper, sum, modulus.n.modulus, x.limbs + (kHalves - 1) * kLimbs);
    if (is_in) {
        store_some_limbs(value, lower, value_words);
        store_some_limbs(value + kWords, upper, value_words - kWords);
    }
}
HEKAT_GROUP_KERNEL(leave)
