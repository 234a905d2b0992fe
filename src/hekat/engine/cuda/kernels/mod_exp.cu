// Powers of residues, each with an exponent of its own or one for all, by fixed windows from the highest.
#include "rows_of_powers.cuh"

using namespace hekat;

// out[i] = a[i a_step]^e for e the lowest exponent_bits bits of exponents[i exponent_step], exponent_words
// words each.
//
// scratch: for each group 2^window rows. Where constant_time is 1, time and memory access depend on sizes
// alone; else on the exponents' digits too.
HEKAT_KERNEL(kBlockThreads)
mod_exp(u32* out, const u32* a, u64 a_step, const u32* exponents, u64 exponent_step, u64 exponent_words,
        u64 exponent_bits, u64 window, u64 constant_time, u32* scratch, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    // Groups beyond the last work along, on scratch of their own.
    const u64 index = is_in ? group_index() : count - 1;
    const u64 row_count = 1ull << window;
    u32* rows = scratch + group_index() * row_count * kRowWords;
    const u32* exponent = exponents + index * exponent_step * exponent_words;

    Residue power = load_power_of_r(modulus, 1);
    store_residue(rows, power);
    {
        const Residue base = load_residue(a + index * a_step * kRowWords);
#pragma unroll 1
        for (u64 i = 1; i < row_count; ++i) {
            multiply(power, power, base, modulus);
            store_residue(rows + i * kRowWords, power);
        }
    }
    // Each thread reads back what it wrote itself.
    power = load_power_of_r(modulus, 1);
    const u64 digit_count = (exponent_bits + window - 1) / window;
#pragma unroll 1
    for (u64 i = digit_count; i-- > 0;) {
#pragma unroll 1
        for (u64 bit = 0; bit < window && i + 1 < digit_count; ++bit) square(power, power, modulus);
        const u32 digit = read_bits(exponent, exponent_words, i * window, (u32)window);
        const Residue factor = look_up(rows, row_count, digit, constant_time != 0);
        multiply(power, power, factor, modulus);
    }
    if (is_in) store_residue(out + index * kRowWords, power);
}
HEKAT_GROUP_KERNEL(mod_exp)
