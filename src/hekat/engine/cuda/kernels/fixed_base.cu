// Powers of one base from a table without squarings: row (i, j) is base^(j 2^(window i)).
//
// A row of pairs x0 + x1 n may hold factors instead: x0 and l with x0 + x1 n = x0 (1 + l n). The x0 multiply,
// four products of n's size instead of five, and the l add up (docs/decisions/0019).
#include "rows_of_powers.cuh"

using namespace hekat;

// chain[i] = base^(2^i) for i below count, one after the other; chain[0] is there already. One group.
HEKAT_KERNEL(kBlockThreads) square_chain(u32* chain, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    Residue power = load_residue(chain);
#pragma unroll 1
    for (u64 i = 1; i < count; ++i) {
        square(power, power, modulus);
        if (group_index() == 0) store_residue(chain + i * kRowWords, power);
    }
}
HEKAT_GROUP_KERNEL(square_chain)

// Rows j in [2^bit, 2^(bit + 1)) of every position, from those below: one group for each of the count new
// rows. For bit = 0 the rows j = 0, which are 1, too.
HEKAT_KERNEL(kBlockThreads)
fill_table(u32* table, const u32* chain, u64 window, u64 bit, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const u64 position = index >> bit;
    const u64 lower = index - (position << bit);
    u32* rows = table + (position << window) * kRowWords;
    Residue power = bit == 0 ? load_power_of_r(modulus, 1) : load_residue(rows + lower * kRowWords);
    if (bit == 0 && is_in) store_residue(rows, power);
    const Residue factor = load_residue(chain + (position * window + bit) * kRowWords);
    multiply(power, power, factor, modulus);
    if (is_in) store_residue(rows + (lower + (1ull << bit)) * kRowWords, power);
}
HEKAT_GROUP_KERNEL(fill_table)

// out[i] = base^exponents[i], exponents of exponent_words words below 2^(window positions).
HEKAT_KERNEL(kBlockThreads)
mod_exp_fixed(u32* out, const u32* table, const u32* exponents, u64 exponent_words, u64 window, u64 positions,
              u64 constant_time, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const u32* exponent = exponents + index * exponent_words;
    const u64 row_count = 1ull << window;
    Residue power = load_power_of_r(modulus, 1);
#pragma unroll 1
    for (u64 i = 0; i < positions; ++i) {
        const u32 digit = read_bits(exponent, exponent_words, i * window, (u32)window);
        const Residue factor =
            look_up(table + i * row_count * kRowWords, row_count, digit, constant_time != 0);
        if (i == 0) {
            power = factor;
        } else {
            multiply(power, power, factor, modulus);
        }
    }
    if (is_in) store_residue(out + index * kRowWords, power);
}
HEKAT_GROUP_KERNEL(mod_exp_fixed)

// rows[i] = x0, l of the pair x0, x1 that it holds, l standing as l R mod n; inverses[i] = 1/x0 mod n, of
// kWords words.
HEKAT_KERNEL(kBlockThreads) factor_rows(u32* rows, const u32* inverses, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    u32* upper = rows + index * kRowWords + (kHalves - 1) * kWords;
    Lane quotient[kLimbs];
    Lane inverse[kLimbs];
    load_limbs(quotient, upper);
    load_limbs(inverse, inverses + index * kWords);
    multiply_numbers(quotient, quotient, inverse, modulus.n);
    if (is_in) store_limbs(upper, quotient);
}
HEKAT_GROUP_KERNEL(factor_rows)

// As mod_exp_fixed, from rows of factors.
HEKAT_KERNEL(kBlockThreads)
mod_exp_factored(u32* out, const u32* table, const u32* exponents, u64 exponent_words, u64 window,
                 u64 positions, u64 constant_time, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const u32* exponent = exponents + index * exponent_words;
    const u64 row_count = 1ull << window;
    Residue power = load_power_of_r(modulus, 1);
    Lane sum[kLimbs];
    clear_number(sum);
#pragma unroll 1
    for (u64 i = 0; i < positions; ++i) {
        const u32 digit = read_bits(exponent, exponent_words, i * window, (u32)window);
        const Residue factor =
            look_up(table + i * row_count * kRowWords, row_count, digit, constant_time != 0);
        const u32 high = add(sum, sum, factor.limbs + (kHalves - 1) * kLimbs, 0);
        subtract_once(sum, sum, high, modulus.n.minus_modulus);
        multiply_digit(power, factor.limbs, power, modulus);
    }
    multiply_one_plus(power, sum, modulus);
    if (is_in) store_residue(out + index * kRowWords, power);
}
HEKAT_GROUP_KERNEL(mod_exp_factored)
