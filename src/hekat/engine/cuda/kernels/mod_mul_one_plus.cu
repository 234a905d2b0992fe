// Products of residues mod n^2 with numbers 1 + v n. Only for pairs.
#include "residue.cuh"

using namespace hekat;

// out[i] = a[i a_step] (1 + values[i value_step] n) for i below count; a value is below n, in value_words
// words.
HEKAT_KERNEL(kBlockThreads)
mod_mul_one_plus(u32* out, const u32* a, u64 a_step, const u32* values, u64 value_step, u64 value_words,
                 u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    Residue x = load_residue(a + index * a_step * kRowWords);
    Lane value[kLimbs];
    load_some_limbs(value, values + index * value_step * value_words, value_words);
    // The lower half of R^2 mod n^2 is R^2 mod n.
    Lane r_squared[kLimbs];
    load_limbs(r_squared, modulus.powers + kRowWords);
    multiply_numbers(value, value, r_squared, modulus.n);
    multiply_one_plus(x, value, modulus);
    if (is_in) store_residue(out + index * kRowWords, x);
}
HEKAT_GROUP_KERNEL(mod_mul_one_plus)
