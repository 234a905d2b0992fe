// Arithmetic modulo a prime p < 2^50 on one residue, without branches: words of 64 bits leave 14 bits of
// room.
#pragma once

#include "block.cuh"

namespace hekat {

// A residue w and floor(w 2^64 / p): a product by w takes its quotient by p from the second (Shoup).
struct alignas(16) Factor {
    u64 value;
    u64 quotient;
};

// What a ring's table holds of each prime (`ring_words` in engine/cuda/ring_tables.py): this, N factors of
// the transform, N of its inverse. Entry m + i of `forward`, for m a power of two and i < m, is psi^brv(m +
// i), brv reversing the bits of a number below N; `inverse` has the inverses, its entry 1 times 1 / N, and 1
// / N as entry 0.
struct alignas(16) Prime {
    u64 value;
    u64 bits;
    u64 reciprocal;  // floor(2^(bits + 62) / p)
    u64 of_one;      // floor(2^64 / p)
};

struct PrimeTable {
    Prime prime;
    const Factor* forward;
    const Factor* inverse;
};

HEKAT_DEVICE PrimeTable load_prime(const u64* ring, u32 number, u32 degree) {
    const u64* own = ring + (u64)number * (sizeof(Prime) / sizeof(u64) + 4 * (u64)degree);
    const Factor* factors = reinterpret_cast<const Factor*>(own + sizeof(Prime) / sizeof(u64));
    return {*reinterpret_cast<const Prime*>(own), factors, factors + degree};
}

// Rows of elements lie element after element, a row for each prime; there are one or two primes.
HEKAT_DEVICE u32 prime_of_row(u64 row, u32 prime_count) { return (u32)row & (prime_count - 1); }
HEKAT_DEVICE u64 element_of_row(u64 row, u32 prime_count) { return divide_by_power(row, prime_count); }

// x - m where x >= m, else x. x < 2^63, m < 2^63.
HEKAT_DEVICE u64 reduce_once(u64 x, u64 m) {
    const u64 difference = x - m;
    return difference + (m & (0 - (difference >> 63)));
}

// x w, below 2 p, for any x.
HEKAT_DEVICE u64 multiply_by(u64 x, const Factor& w, u64 p) {
    return x * w.value - high_product(x, w.quotient) * p;
}

// Any x mod p.
HEKAT_DEVICE u64 reduce_word(u64 x, const Prime& prime) {
    return reduce_once(x - high_product(x, prime.of_one) * prime.value, prime.value);
}

// A number of two's complement mod p: with 2^63 added it is not negative.
HEKAT_DEVICE u64 residue_of(u64 number, const Prime& prime) {
    const u64 sign = (u64)1 << 63;
    return reduce_once(reduce_word(number ^ sign, prime) + prime.value - reduce_word(sign, prime),
                       prime.value);
}

// Quotient and rest of a number by p.
struct Division {
    u64 quotient;
    u64 rest;
};

// Of high 2^64 + low, below 2^(bits + 50).
HEKAT_DEVICE Division divide_by_prime(u64 high, u64 low, const Prime& prime) {
    const u32 down = (u32)prime.bits - 1;
    // The number / 2^(bits - 1), below 2^51; its quotient is short by at most 2.
    const u64 scaled = (high << (64 - down)) | (low >> down);
    u64 quotient = high_product(2 * scaled, prime.reciprocal);
    u64 rest = low - quotient * prime.value;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u64 less = rest - prime.value;
        const u64 is_below = less >> 63;
        quotient += 1 - is_below;
        rest = less + (prime.value & (0 - is_below));
    }
    return {quotient, rest};
}

// a b mod p of canonical residues.
HEKAT_DEVICE u64 multiply_residues(u64 a, u64 b, const Prime& prime) {
    return divide_by_prime(high_product(a, b), a * b, prime).rest;
}

// high 2^64 + low mod p.
HEKAT_DEVICE u64 reduce_words(u64 high, u64 low, const Prime& prime) {
    const u64 word = 0 - prime.of_one * prime.value;  // 2^64 mod p
    const u64 upper = multiply_residues(reduce_word(high, prime), word, prime);
    return reduce_once(upper + reduce_word(low, prime), prime.value);
}

// The factor of a canonical residue w, 32 bits of its quotient at a time.
HEKAT_DEVICE Factor factor_of(u64 w, const Prime& prime) {
    const Division upper = divide_by_prime(w >> 32, w << 32, prime);
    const Division lower = divide_by_prime(upper.rest >> 32, upper.rest << 32, prime);
    return {w, (upper.quotient << 32) + lower.quotient};
}

}  // namespace hekat
