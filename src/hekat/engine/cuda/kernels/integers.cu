// Multi-precision integers, one thread an item, words in global memory.
//
// Threads tell each other nothing, so each may leave or branch on its own. Operand x has x_words words a row;
// its rows are x_step rows apart: 0 where one row serves all items. No operand overlaps a result.
#include "lane.cuh"

using namespace hekat;

static_assert(kThreads == 1, "an item is one thread's");

// Word i of a number of `words` words; 0 beyond them.
HEKAT_DEVICE u64 word_at(const u32* x, u64 words, u64 i) { return i < words ? x[i] : 0; }

// out[i] = a[i] + b[i], out_words > max(a_words, b_words). Constant time.
HEKAT_KERNEL(kBlockThreads)
int_add(u32* out, u64 out_words, const u32* a, u64 a_words, u64 a_step, const u32* b, u64 b_words, u64 b_step,
        u64 count) {
    const u64 item = group_index();
    if (item >= count) return;
    u32* z = out + item * out_words;
    const u32* x = a + item * a_step * a_words;
    const u32* y = b + item * b_step * b_words;
    u64 sum = 0;
#pragma unroll 1
    for (u64 i = 0; i < out_words; ++i) {
        sum += word_at(x, a_words, i) + word_at(y, b_words, i);
        z[i] = static_cast<u32>(sum);
        sum >>= 32;
    }
}
HEKAT_GROUP_KERNEL(int_add)

// out[i] = |a[i] - b[i]|, out_words >= max(a_words, b_words); below[i] = whether a[i] < b[i]. Constant time.
HEKAT_KERNEL(kBlockThreads)
int_sub(u32* out, u64 out_words, u8* below, const u32* a, u64 a_words, u64 a_step, const u32* b, u64 b_words,
        u64 b_step, u64 count) {
    const u64 item = group_index();
    if (item >= count) return;
    u32* z = out + item * out_words;
    const u32* x = a + item * a_step * a_words;
    const u32* y = b + item * b_step * b_words;
    u64 borrow = 0;
#pragma unroll 1
    for (u64 i = 0; i < out_words; ++i) {
        const u64 difference = word_at(x, a_words, i) - word_at(y, b_words, i) - borrow;
        z[i] = static_cast<u32>(difference);
        borrow = difference >> 63;
    }
    // -z = ~z + 1 where there was a borrow.
    const u32 mask = 0u - static_cast<u32>(borrow);
    u64 sum = borrow;
#pragma unroll 1
    for (u64 i = 0; i < out_words; ++i) {
        sum += z[i] ^ mask;
        z[i] = static_cast<u32>(sum);
        sum >>= 32;
    }
    below[item] = static_cast<u8>(borrow);
}
HEKAT_GROUP_KERNEL(int_sub)

// out[i] = a[i] * b[i], a_words + b_words words: column by column, schoolbook. Constant time. For factors too
// long for a group of threads (int_mul.cu).
HEKAT_KERNEL(kBlockThreads)
int_mul(u32* out, const u32* a, u64 a_words, u64 a_step, const u32* b, u64 b_words, u64 b_step, u64 count) {
    const u64 item = group_index();
    if (item >= count) return;
    u32* z = out + item * (a_words + b_words);
    const u32* x = a + item * a_step * a_words;
    const u32* y = b + item * b_step * b_words;
    // What columns below carry up: low + top 2^64.
    u64 low = 0, top = 0;
#pragma unroll 1
    for (u64 column = 0; column < a_words + b_words; ++column) {
        const u64 first = column < b_words ? 0 : column - b_words + 1;
        const u64 last = column < a_words ? column + 1 : a_words;
#pragma unroll 4
        for (u64 i = first; i < last; ++i) {
            const u64 product = static_cast<u64>(x[i]) * y[column - i];
            low += product;
            top += low < product;
        }
        z[column] = static_cast<u32>(low);
        low = low >> 32 | top << 32;
        top >>= 32;
    }
}
HEKAT_GROUP_KERNEL(int_mul)

// How many words a number has without its leading zeros. Variable time.
HEKAT_DEVICE u32 count_words_vartime(const u32* x, u32 words) {
    while (words > 0 && x[words - 1] == 0) --words;
    return words;
}

// z (words + 1 words) = x 2^shift, 0 <= shift < 32.
HEKAT_DEVICE void shift_up(u32* z, const u32* x, u32 words, u32 shift) {
    u64 carry = 0;
#pragma unroll 1
    for (u32 i = 0; i < words; ++i) {
        carry |= static_cast<u64>(x[i]) << shift;
        z[i] = static_cast<u32>(carry);
        carry >>= 32;
    }
    z[words] = static_cast<u32>(carry);
}

// One 16-bit digit: part / d to within two too high, set right by the divisor's lower digit and the next
// digit of the dividend; `part` becomes (part 2^16 + next) - q v, below v. d is the upper digit of v, its
// highest bit set.
HEKAT_DEVICE u32 divide_digit_vartime(u32& part, u32 next, u32 v) {
    const u32 d = v >> 16;
    u32 q = part / d;
    u32 r = part - q * d;
    while (q >> 16 || q * (v & 0xffff) > (r << 16 | next)) {
        --q;
        r += d;
        if (r >> 16) break;
    }
    part = (part << 16 | next) - q * v;
    return q;
}

// One word of the quotient: u (n + 1 words) = u - q v, v (n >= 1 words) with its highest bit set, u < v 2^32.
// Returns q. Variable time. Divides by 16-bit digits, as a division of 64 bits is a call with memory of its
// own.
HEKAT_DEVICE u32 divide_word_vartime(u32* u, const u32* v, u32 n) {
    const u32 highest = v[n - 1];
    u64 q = 0xffffffff;
    // What the two highest words of u leave of q times the highest of v.
    u64 r = static_cast<u64>(u[n - 1]) + highest;
    if (u[n] < highest) {
        u32 part = u[n];
        q = divide_digit_vartime(part, u[n - 1] >> 16, highest) << 16;
        q |= divide_digit_vartime(part, u[n - 1] & 0xffff, highest);
        r = part;
    }
    // At most two too high; the second word of v finds all but rare cases of one.
    const u64 second = n > 1 ? v[n - 2] : 0;
    const u64 next = n > 1 ? u[n - 2] : 0;
    while (r >> 32 == 0 && q * second > (r << 32 | next)) {
        --q;
        r += highest;
    }
    u64 carry = 0, borrow = 0;
#pragma unroll 1
    for (u32 i = 0; i < n; ++i) {
        carry += q * v[i];
        const u64 difference = static_cast<u64>(u[i]) - static_cast<u32>(carry) - borrow;
        u[i] = static_cast<u32>(difference);
        borrow = difference >> 63;
        carry >>= 32;
    }
    const u64 difference = static_cast<u64>(u[n]) - carry - borrow;
    u[n] = static_cast<u32>(difference);
    if (difference >> 63) {
        --q;
        u64 sum = 0;
#pragma unroll 1
        for (u32 i = 0; i < n; ++i) {
            sum += static_cast<u64>(u[i]) + v[i];
            u[i] = static_cast<u32>(sum);
            sum >>= 32;
        }
        u[n] += static_cast<u32>(sum);
    }
    return static_cast<u32>(q);
}

// quotients[i] (a_words) = a[i] / b[i], remainders[i] (b_words) = a[i] mod b[i], b[i] > 0. Variable time.
// `scratch` has a_words + b_words + 2 words an item. Source: Knuth, The Art of Computer Programming 2, 4.3.1,
// D.
HEKAT_KERNEL(kBlockThreads)
int_divmod(u32* quotients, u32* remainders, u32* scratch, const u32* a, u64 a_words, u64 a_step, const u32* b,
           u64 b_words, u64 b_step, u64 count) {
    const u64 item = group_index();
    if (item >= count) return;
    u32* quotient = quotients + item * a_words;
    u32* remainder = remainders + item * b_words;
    u32* u = scratch + item * (a_words + b_words + 2);
    u32* v = u + a_words + 1;
    const u32* x = a + item * a_step * a_words;
    const u32* y = b + item * b_step * b_words;
    const u32 m = count_words_vartime(x, static_cast<u32>(a_words));
    const u32 n = count_words_vartime(y, static_cast<u32>(b_words));
    u32 shift = 0;
    while ((y[n - 1] << shift) >> 31 == 0) ++shift;
    shift_up(u, x, m, shift);
    shift_up(v, y, n, shift);
#pragma unroll 1
    for (u32 i = 0; i < a_words; ++i) quotient[i] = 0;
#pragma unroll 1
    for (u32 j = m; j-- > n - 1;) quotient[j - (n - 1)] = divide_word_vartime(u + (j - (n - 1)), v, n);
    // What is left of a, below b, moved down again; u has m + 1 words.
    const u32 left = m + 1 < n ? m + 1 : n;
#pragma unroll 1
    for (u32 i = 0; i < b_words; ++i) {
        const u64 word = i < left ? u[i] : 0;
        const u64 above = i + 1 < left ? u[i + 1] : 0;
        remainder[i] = static_cast<u32>((above << 32 | word) >> shift);
    }
}
HEKAT_GROUP_KERNEL(int_divmod)
