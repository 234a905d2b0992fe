// Sums by bin: the transforms of sparse plaintexts, a block each, and their products with elements, a slot a
// thread. No variants: any degree and primes at run time.
//
// Plaintexts lie window after window, run after run (the rows of the segment in one group of elements), a row
// for each prime.
#include "transform.cuh"

using namespace hekat;

// The rows from first_row to end_row - 1 of `column_count` columns of row_count digits, and the windows from
// first_window on: a group has degree / 2^window_bits rows, run 0 the rows of group first_group.
struct Runs {
    const i32* digits;
    u64 column_count;
    u64 row_count;
    u64 first_row;
    u64 end_row;
    u64 first_group;
    u64 run_count;
    u64 first_window;
    u64 window_bits;
};

HEKAT_DEVICE void write_plaintext(u64* row, const Runs& runs, u64 window, u64 run, u32 degree) {
    const u64 group_rows = degree >> runs.window_bits;
    const u64 group_row = (runs.first_group + run) * group_rows;
    const u64 first = group_row < runs.first_row ? runs.first_row : group_row;
    const u64 group_end = group_row + group_rows;
    const u64 end = group_end < runs.end_row ? group_end : runs.end_row;
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < degree; n += block_threads()) row[n] = 0;
    });
    for_each_thread([&](u32 thread) {
        for (u64 column = 0; column < runs.column_count; ++column) {
            for (u64 at = first + thread; at < end; at += block_threads()) {
                const i32 digit = runs.digits[column * runs.row_count + at];
                if (digit < 0 || (u32)digit >> runs.window_bits != window) continue;
                const u32 i = (u32)digit & ((1u << runs.window_bits) - 1);
                const u32 back = (u32)(at - group_row) << runs.window_bits;
                // X^N = -1.
                const bool is_negative = i < back;
                add_into(row + slot((i - back) & (degree - 1)), is_negative ? ~(u64)0 : 1);
            }
        }
    });
}

// out: transforms of `windows` times run_count plaintexts, one block a row: degree words of shared memory.
HEKAT_KERNEL_OF_TWO(kMostThreads)
transform_plaintexts(u64* out, const i32* digits, u64 column_count, u64 row_count, u64 first_row, u64 end_row,
                     u64 first_group, u64 run_count, u64 first_window, u64 window_bits, const u64* ring,
                     u64 degree_, u64 prime_count) {
    const u32 degree = (u32)degree_;
    const PrimeTable table = load_prime(ring, prime_of_row(block_index(), (u32)prime_count), degree);
    const u64 plaintext = element_of_row(block_index(), (u32)prime_count);
    const Runs runs{digits,      column_count, row_count,    first_row,  end_row,
                    first_group, run_count,    first_window, window_bits};
    u64* row = shared_words();
    write_plaintext(row, runs, first_window + plaintext / run_count, plaintext % run_count, degree);
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < degree; n += block_threads()) row[n] = residue_of(row[n], table.prime);
    });
    transform(row, table, degree);
    for_each_thread([&](u32 thread) {
        for (u32 n = thread; n < degree; n += block_threads()) out[block_index() * degree + n] = row[slot(n)];
    });
}
HEKAT_BLOCK_KERNEL(transform_plaintexts)

// out, item_count items (windows, components, primes, degree) from item `first_item` on, = the sums over the
// runs of plaintexts times elements (groups, components, primes, degree); where `adds`, with what is there.
//
// Sums of up to 2^28 products stay below 2^128.
HEKAT_KERNEL(kMostThreads)
add_products(u64* out, u64 first_item, u64 item_count, u64 adds, const u64* plaintexts, const u64* elements,
             u64 component_count, u64 first_group, u64 run_count, const u64* ring, u64 degree,
             u64 prime_count) {
    for_each_thread([&](u32 thread) {
        const u64 index = launch_index(thread);
        if (index >= item_count) return;
        const u64 n = index & (degree - 1);
        const u64 row = divide_by_power(index, (u32)degree);
        const u32 number = prime_of_row(row, (u32)prime_count);
        const u64 output = element_of_row(row, (u32)prime_count);
        const u64 component = output % component_count;
        const u64 window = output / component_count;
        const Prime prime = load_prime(ring, number, (u32)degree).prime;
        u64 low = 0;
        u64 high = 0;
        for (u64 run = 0; run < run_count; ++run) {
            const u64 x = plaintexts[((window * run_count + run) * prime_count + number) * degree + n];
            const u64 element = (first_group + run) * component_count + component;
            const u64 y = elements[(element * prime_count + number) * degree + n];
            const u64 product = x * y;
            low += product;
            high += high_product(x, y) + (low < product);
        }
        const u64 sum = reduce_words(high, low, prime);
        u64* const to = out + first_item + index;
        *to = adds ? reduce_once(*to + sum, prime.value) : sum;
    });
}
HEKAT_BLOCK_KERNEL(add_products)
