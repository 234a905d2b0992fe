// Elements: transforms, sums and products of residues. No variants: any degree and primes at run time.
#include "transform.cuh"

using namespace hekat;

// The row of a block in shared memory.
HEKAT_DEVICE void load_row(u64* row, const u64* from, u32 degree) {
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < degree; n += block_threads()) row[slot(n)] = from[n];
    });
}
HEKAT_DEVICE void store_row(u64* to, const u64* row, u32 degree) {
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < degree; n += block_threads()) to[n] = row[slot(n)];
    });
}

// out (elements, primes, degree), one block a row, from canonical residues: degree words of shared memory.
HEKAT_KERNEL_OF_TWO(kMostThreads)
ring_ntt(u64* out, const u64* a, const u64* ring, u64 degree, u64 prime_count) {
    const PrimeTable table = load_prime(ring, prime_of_row(block_index(), (u32)prime_count), (u32)degree);
    load_row(shared_words(), a + block_index() * degree, (u32)degree);
    transform(shared_words(), table, (u32)degree);
    store_row(out + block_index() * degree, shared_words(), (u32)degree);
}
HEKAT_BLOCK_KERNEL(ring_ntt)

// The same from integers, count of them in each element (elements, count), the other coefficients 0.
HEKAT_KERNEL_OF_TWO(kMostThreads)
ring_ntt_integers(u64* out, const i64* values, u64 count, const u64* ring, u64 degree, u64 prime_count) {
    const PrimeTable table = load_prime(ring, prime_of_row(block_index(), (u32)prime_count), (u32)degree);
    const i64* const from = values + element_of_row(block_index(), (u32)prime_count) * count;
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < (u32)degree; n += block_threads()) {
            shared_words()[slot(n)] = n < count ? residue_of((u64)from[n], table.prime) : 0;
        }
    });
    transform(shared_words(), table, (u32)degree);
    store_row(out + block_index() * degree, shared_words(), (u32)degree);
}
HEKAT_BLOCK_KERNEL(ring_ntt_integers)

HEKAT_KERNEL_OF_TWO(kMostThreads)
ring_intt(u64* out, const u64* a, const u64* ring, u64 degree, u64 prime_count) {
    const PrimeTable table = load_prime(ring, prime_of_row(block_index(), (u32)prime_count), (u32)degree);
    load_row(shared_words(), a + block_index() * degree, (u32)degree);
    invert_transform(shared_words(), table, (u32)degree);
    store_row(out + block_index() * degree, shared_words(), (u32)degree);
}
HEKAT_BLOCK_KERNEL(ring_intt)

// out (elements, primes, degree), one block a row, slot by slot; an operand of one element has step 0,
// else 1.
template <class Operation>
HEKAT_DEVICE void combine(u64* out, const u64* a, u64 a_step, const u64* b, u64 b_step, const u64* ring,
                          u64 degree, u64 prime_count, const Operation& operation) {
    const u32 number = prime_of_row(block_index(), (u32)prime_count);
    const u64 element = element_of_row(block_index(), (u32)prime_count);
    const Prime prime = load_prime(ring, number, (u32)degree).prime;
    for_each_thread([&](u32 thread) {
        for (u64 n = thread; n < degree; n += block_threads()) {
            const u64 x = a[(element * a_step * prime_count + number) * degree + n];
            const u64 y = b[(element * b_step * prime_count + number) * degree + n];
            out[block_index() * degree + n] = operation(x, y, prime);
        }
    });
}

HEKAT_KERNEL(kMostThreads)
ring_add(u64* out, const u64* a, u64 a_step, const u64* b, u64 b_step, const u64* ring, u64 degree,
         u64 prime_count) {
    combine(out, a, a_step, b, b_step, ring, degree, prime_count,
            [](u64 x, u64 y, const Prime& prime) { return reduce_once(x + y, prime.value); });
}
HEKAT_BLOCK_KERNEL(ring_add)

HEKAT_KERNEL(kMostThreads)
ring_sub(u64* out, const u64* a, u64 a_step, const u64* b, u64 b_step, const u64* ring, u64 degree,
         u64 prime_count) {
    combine(out, a, a_step, b, b_step, ring, degree, prime_count,
            [](u64 x, u64 y, const Prime& prime) { return reduce_once(x + prime.value - y, prime.value); });
}
HEKAT_BLOCK_KERNEL(ring_sub)

HEKAT_KERNEL(kMostThreads)
ring_mul(u64* out, const u64* a, u64 a_step, const u64* b, u64 b_step, const u64* ring, u64 degree,
         u64 prime_count) {
    combine(out, a, a_step, b, b_step, ring, degree, prime_count,
            [](u64 x, u64 y, const Prime& prime) { return multiply_residues(x, y, prime); });
}
HEKAT_BLOCK_KERNEL(ring_mul)

// out (elements, primes, degree) = (a - c) / dropped, one block a row, for c the residues `last` (elements,
// degree) mod an odd prime, centred; inverses: of `dropped` mod each prime.
HEKAT_KERNEL(kMostThreads)
ring_drop_prime(u64* out, const u64* a, const u64* last, const u64* inverses, u64 dropped, const u64* ring,
                u64 degree, u64 prime_count) {
    const u32 number = prime_of_row(block_index(), (u32)prime_count);
    const u64* const from = last + element_of_row(block_index(), (u32)prime_count) * degree;
    const Prime prime = load_prime(ring, number, (u32)degree).prime;
    const u64 half = dropped >> 1;
    for_each_thread([&](u32 thread) {
        for (u64 n = thread; n < degree; n += block_threads()) {
            const u64 shifted = reduce_word(reduce_once(from[n] + half, dropped), prime);
            const u64 centred = reduce_once(shifted + prime.value - reduce_word(half, prime), prime.value);
            const u64 rest = reduce_once(a[block_index() * degree + n] + prime.value - centred, prime.value);
            out[block_index() * degree + n] = multiply_residues(rest, inverses[number], prime);
        }
    });
}
HEKAT_BLOCK_KERNEL(ring_drop_prime)

// out (rows, columns, primes, degree) = a (rows, terms, primes, degree / stride) b (terms, columns, primes,
// degree), one block a row of residues, slot by slot, of a for `stride` neighbours each. Sums of up to 2^28
// products of residues stay below 2^128.
HEKAT_KERNEL(kMostThreads)
ring_dot(u64* out, const u64* a, const u64* b, u64 terms, u64 columns, u64 stride, const u64* ring,
         u64 degree, u64 prime_count) {
    const u32 number = prime_of_row(block_index(), (u32)prime_count);
    const u64 element = element_of_row(block_index(), (u32)prime_count);
    const u64 row = element / columns;
    const u64 column = element % columns;
    const u64 length = degree / stride;
    const Prime prime = load_prime(ring, number, (u32)degree).prime;
    for_each_thread([&](u32 thread) {
        for (u64 n = thread; n < degree; n += block_threads()) {
            u64 low = 0;
            u64 high = 0;
            for (u64 term = 0; term < terms; ++term) {
                const u64 x = a[((row * terms + term) * prime_count + number) * length + n / stride];
                const u64 y = b[((term * columns + column) * prime_count + number) * degree + n];
                const u64 product = x * y;
                low += product;
                high += high_product(x, y) + (low < product);
            }
            out[block_index() * degree + n] = reduce_words(high, low, prime);
        }
    });
}
HEKAT_BLOCK_KERNEL(ring_dot)

// factors (primes, degree) of one element's residues: two words each.
HEKAT_KERNEL(kMostThreads)
find_factors(u64* factors, const u64* a, const u64* ring, u64 degree, u64 prime_count) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= prime_count * degree) return;
        const Prime prime = load_prime(ring, (u32)divide_by_power(index, (u32)degree), (u32)degree).prime;
        reinterpret_cast<Factor*>(factors)[index] = factor_of(a[index], prime);
    });
}
HEKAT_BLOCK_KERNEL(find_factors)
