// Products of multi-precision integers by groups: full products, nothing reduced. Options of lane.cuh alone.
#include "rows.cuh"

using namespace hekat;

// out[i] = a[i a_step] b[i b_step], a_words + b_words words a row, for factors of at most kWords words.
// Constant time.
HEKAT_KERNEL(kBlockThreads)
int_mul_in_groups(u32* out, const u32* a, u64 a_words, u64 a_step, const u32* b, u64 b_words, u64 b_step,
                  u64 count) {
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    Lane x[kLimbs];
    Lane y[kLimbs];
    load_some_limbs(x, a + index * a_step * a_words, a_words);
    load_some_limbs(y, b + index * b_step * b_words, b_words);
    Accumulator sum;
    clear(sum);
    Lane lower[kLimbs];
    Lane upper[kLimbs];
    multiply_out(lower, upper, sum, x, y);
    u32* row = out + index * (a_words + b_words);
    const u64 word_count = a_words + b_words;
    if (is_in) {
        store_some_limbs(row, lower, word_count);
        store_some_limbs(row + kWords, upper, word_count > kWords ? word_count - kWords : 0);
    }
}
HEKAT_GROUP_KERNEL(int_mul_in_groups)
