// Products of powers with shared squarings. Source: Straus 1964, with tables of the bases' powers that all
// results use.
#include "rows_of_powers.cuh"

using namespace hekat;

// rows[i 2^window + j] = a[i]^j for j below 2^window.
HEKAT_KERNEL(kBlockThreads)
small_powers(u32* rows, const u32* a, u64 window, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const Residue base = load_residue(a + index * kRowWords);
    u32* own = rows + (index << window) * kRowWords;
    Residue power = load_power_of_r(modulus, 1);
    if (is_in) store_residue(own, power);
#pragma unroll 1
    for (u64 j = 1; j < 1ull << window; ++j) {
        multiply(power, power, base, modulus);
        if (is_in) store_residue(own + j * kRowWords, power);
    }
}
HEKAT_GROUP_KERNEL(small_powers)

// out[i] = the product over k from offsets[i] to offsets[i + 1] - 1 of base(bases[k])^exponents[k], where
// `rows` holds the bases' small powers and exponents have exponent_bits bits in exponent_words words.
// Variable time.
HEKAT_KERNEL(kBlockThreads)
multi_exp(u32* out, const u32* rows, u64 window, const i64* bases, const u32* exponents, u64 exponent_words,
          u64 exponent_bits, const i64* offsets, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const i64 begin = offsets[index];
    const i64 end = offsets[index + 1];
    Residue product = load_power_of_r(modulus, 1);
    const u64 digit_count = (exponent_bits + window - 1) / window;
#pragma unroll 1
    for (u64 i = digit_count; i-- > 0;) {
#pragma unroll 1
        for (u64 bit = 0; bit < window && i + 1 < digit_count; ++bit) square(product, product, modulus);
#pragma unroll 1
        for (i64 at = begin; any_in_warp(at < end); ++at) {
            u32 digit = 0;
            if (at < end)
                digit = read_bits(exponents + at * exponent_words, exponent_words, i * window, (u32)window);
            // Most digits of sparse exponents are 0: a warp without any other has nothing to multiply.
            if (!any_in_warp(digit != 0)) continue;
            const u64 row = digit == 0 ? 0 : ((u64)bases[at] << window) + digit;
            const Residue factor = load_residue(rows + row * kRowWords);
            multiply(product, product, factor, modulus);
        }
    }
    if (is_in) store_residue(out + index * kRowWords, product);
}
HEKAT_GROUP_KERNEL(multi_exp)
