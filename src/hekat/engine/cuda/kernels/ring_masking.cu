// Blocks of values masked, added, written and opened. Compile option HEKAT_PRIMES: primes of the ring, 1
// or 2.
//
// A chunk is worked on by one block, from its streams to its bytes, in shared memory: kPrimes rows of the
// degree's words, with SamplingRoom behind them. Addresses and time depend on nothing secret.
#include "mask_form.cuh"
#include "sampling.cuh"

using namespace hekat;

// An error stands above a residue, which has 50 bits, as error + kErrorBase.
constexpr u32 kErrorPlace = 56;
constexpr u32 kErrorBase = 32;
constexpr u64 kResidue = ((u64)1 << kErrorPlace) - 1;

HEKAT_DEVICE u64* row_of(u32 number, const MaskForm& form) { return shared_words() + number * form.degree; }

// The rows = the coefficients of a s for one chunk; secret: the factors of s transformed, (primes, degree).
HEKAT_DEVICE void fill_masks(const u32* public_key, const u64* secret, u64 chunk, const u64* ring,
                             const MaskForm& form) {
    const u32 degree = (u32)form.degree;
    SamplingRoom* room = reinterpret_cast<SamplingRoom*>(row_of(kPrimes, form));
#pragma unroll 1
    for (u32 number = 0; number < kPrimes; ++number) {
        const PrimeTable table = load_prime(ring, number, degree);
        const u64 p = table.prime.value;
        const Factor* factors = reinterpret_cast<const Factor*>(secret) + number * degree;
        u64* row = row_of(number, form);
        const bool is_first_pass_done = sample_uniform(
            room, stream_of(public_key, number, chunk), table.prime, degree,
            [&](u32 k, u64(&items)[kGroup]) {
#pragma unroll
                for (u32 i = 0; i < kGroup; ++i) items[i] = multiply_by(items[i], factors[k * kGroup + i], p);
                invert_levels<3>(items, table, degree, 0, k);
                store_items<3>(row, items, k * kGroup, 0);
            },
            [&](u32 n, u64 residue) { row[slot(n)] = multiply_by(residue, factors[n], p); });
        if (!is_first_pass_done) invert_pass<3>(row, table, degree, 0);
        finish_inverse(row, table, degree);
    }
}

// Sets the errors of the first `used` coefficients above the residues of the first row.
HEKAT_DEVICE void add_errors(u64* row, const Stream& stream, u32 used) {
    for_each_thread([&](u32 thread) {
        for (u32 k = thread; k * kGroup < used; k += block_threads()) {
            u64 words[kGroup];
            stream_words(words, stream, k);
            const u32 first = slot(k * kGroup);
#pragma unroll
            for (u32 i = 0; i < kGroup; ++i) {
                row[first ^ slot(i)] |= (u64)((u32)binomial(words[i]) + kErrorBase) << kErrorPlace;
            }
        }
    });
}

// Which value of a chunk lane `lane` holds: -1 the count, from chunk.value_count on none.
HEKAT_DEVICE u32 value_of_lane(u32 lane) { return lane - 1; }

// out = the written chunks of values, one block a chunk; keys: the public key, then the key of the errors.
// Where a value does not fit its lane *refused becomes 1, and out means nothing.
HEKAT_KERNEL_OF_TWO(kMostThreads)
mask_values(u8* out, u32* refused, const u32* keys, const u64* secret, u64 first_chunk, const i32* values,
            u64 value_count, u64 chunk_count, const u64* ring, const u64* form_words) {
    const MaskForm& form = load_form(form_words);
    const u64 number = block_index();
    const Chunk chunk = load_chunk(form, number, chunk_count, value_count);
    fill_masks(keys, secret, first_chunk + number, ring, form);
    add_errors(row_of(0, form), stream_of(keys + kKeyWords, kErrorStream, first_chunk + number), chunk.used);
    for_each_thread([&](u32 thread) {
        const u64 p0 = load_prime(ring, 0, (u32)form.degree).prime.value;
        const u64 p1 = load_prime(ring, kPrimes - 1, (u32)form.degree).prime.value;
        const Integer q = integer_of(form.modulus);
        const u64 half = (u64)1 << (form.lane_bits - 1);
        const u64 most = 2 * half - 2;
        u64* low_row = row_of(0, form);
        u64* high_row = row_of(kPrimes - 1, form);
        u64 beyond = 0;
        for (u32 n = thread; n < chunk.used; n += block_threads()) {
            Integer u = integer_of((u64)0);
            for (u32 j = (u32)form.lanes; j-- > 0;) {
                const u32 lane = j * chunk.used + n;
                i64 digit = lane == 0;
                if (lane != 0 && value_of_lane(lane) < chunk.value_count) {
                    digit = values[chunk.first_value + value_of_lane(lane)];
                }
                const u64 lifted = (u64)digit + half;
                beyond |= (lifted - 1) | (most - (lifted - 1));
                u = (u << form.lane_bits) + integer_of(lifted);
            }
            const u64 first = low_row[slot(n)];
            Integer x;
            compose(x, first & kResidue, high_row[slot(n)], form, p0, p1);
            const i64 error = (i64)(first >> kErrorPlace) - (i64)kErrorBase;
            x = x + integer_of(form.from_offset) + integer_of_signed(error) + scale(u, form.delta);
            const Fields fields =
                round_to_fields(reduce_once(reduce_once(x, q), q), form.dropped, form.field_bits);
            low_row[slot(n)] = fields.low;
            if (kPrimes == 2) high_row[slot(n)] = fields.high;
        }
        or_into(refused, (u32)(beyond >> 63));
    });
    u8* bytes = out + number * chunk_bytes(form.field_bits, (u32)form.degree);
    pack_fields(bytes, row_of(0, form), chunk.used, (u32)form.field_bits[0]);
    if (kPrimes == 2) {
        bytes += low_bytes(form.field_bits, chunk.used);
        pack_fields(bytes, row_of(1, form), chunk.used, (u32)form.field_bits[1]);
    }
}
HEKAT_BLOCK_KERNEL(mask_values)

// The field of an accumulator's place, where the written bytes hold it.
struct FieldPlace {
    const u8* plane;
    u64 first_bit;
    u32 bits;
    u32 behind;  // fields behind it in its plane
};
HEKAT_DEVICE FieldPlace find_field(u64 place, const u8* written, const MaskForm& form, u64 last_chunk,
                                   u32 last_used) {
    const u32 chunk_fields = kPrimes * (u32)form.degree;
    const u64 number = divide_by_power(place, chunk_fields);
    const u32 within = (u32)place & (chunk_fields - 1);
    const u32 used = number == last_chunk ? last_used : (u32)form.degree;
    const u8* bytes = written + number * chunk_bytes(form.field_bits, (u32)form.degree);
    if (kPrimes == 2 && within >= used) {
        const u32 bits = (u32)form.field_bits[1];
        return {bytes + low_bytes(form.field_bits, used), (u64)(within - used) * bits, bits,
                2 * used - 1 - within};
    }
    return {bytes, (u64)within * form.field_bits[0], (u32)form.field_bits[0], used - 1 - within};
}

struct alignas(16) PairOfSums {
    u64 first;
    u64 second;
};

// sums (field_count) += the fields of one written block; two a thread, read and written as one where they are
// aligned.
HEKAT_KERNEL(kMostThreads)
add_masked(u64* sums, u64 field_count, const u8* written, u64 byte_count, u64 last_chunk, u64 last_used,
           const u64* form_words) {
    for_each_thread([&](u32 thread) {
        const MaskForm& form = load_form(form_words);
        const u8* end = written + byte_count;
        const u64 place = 2 * launch_index(thread);
        if (place >= field_count) return;
        const FieldPlace first = find_field(place, written, form, last_chunk, (u32)last_used);
        const u64 first_field = read_field(first.plane, first.first_bit, first.bits, end);
        if (place + 1 == field_count) {
            sums[place] += first_field;
            return;
        }
        FieldPlace second = first;
        second.first_bit += first.bits;
        if (first.behind == 0) second = find_field(place + 1, written, form, last_chunk, (u32)last_used);
        const u64 second_field = read_field(second.plane, second.first_bit, second.bits, end);
        if (((u64)sums & 15) == 0) {
            PairOfSums* pair = reinterpret_cast<PairOfSums*>(sums + place);
            const PairOfSums old = *pair;
            *pair = {old.first + first_field, old.second + second_field};
        } else {
            sums[place] += first_field;
            sums[place + 1] += second_field;
        }
    });
}
HEKAT_BLOCK_KERNEL(add_masked)

// Coefficients that a block of write_sum takes: in any field they fill whole words of 64 bits.
constexpr u32 kTile = 1024;

// out = the written sum, one block for kTile coefficients of a chunk; kPrimes kTile words of shared memory.
HEKAT_KERNEL(kMostThreads)
write_sum(u8* out, const u64* sums, u64 value_count, u64 chunk_count, const u64* ring,
          const u64* form_words) {
    const MaskForm& form = load_form(form_words);
    const u32 tiles = (u32)form.degree / kTile;
    const u64 number = divide_by_power(block_index(), tiles);
    const Chunk chunk = load_chunk(form, number, chunk_count, value_count);
    const u32 tile_first = ((u32)block_index() & (tiles - 1)) * kTile;
    if (tile_first >= chunk.used) return;
    const u32 count = chunk.used - tile_first < kTile ? chunk.used - tile_first : kTile;
    u64* low_row = shared_words();
    u64* high_row = shared_words() + (kPrimes - 1) * kTile;
    const u64* low_sums = sums + number * form.degree * kPrimes + tile_first;
    const u64* high_sums = low_sums + (kPrimes - 1) * chunk.used;
    for_each_thread([&](u32 thread) {
        const u64 p0 = load_prime(ring, 0, (u32)form.degree).prime.value;
        const u64 p1 = load_prime(ring, kPrimes - 1, (u32)form.degree).prime.value;
        for (u32 n = thread; n < count; n += block_threads()) {
            u64 first = multiply_by(low_sums[n], form.sum_factors[0][0], p0);
            u64 second = 0;
            if (kPrimes == 2) {
                first += multiply_by(high_sums[n], form.sum_factors[0][1], p0);
                second = multiply_by(low_sums[n], form.sum_factors[1][0], p1) +
                         multiply_by(high_sums[n], form.sum_factors[1][1], p1);
            }
            Integer x;
            compose(x, reduce_once(reduce_once(first, 2 * p0), p0),
                    reduce_once(reduce_once(second, 2 * p1), p1), form, p0, p1);
            const Fields fields = round_to_fields(x, form.sum_dropped, form.sum_field_bits);
            low_row[slot(n)] = fields.low;
            if (kPrimes == 2) high_row[slot(n)] = fields.high;
        }
    });
    u8* bytes = out + number * chunk_bytes(form.sum_field_bits, (u32)form.degree);
    pack_fields(bytes + tile_first / 8 * form.sum_field_bits[0], low_row, count, (u32)form.sum_field_bits[0]);
    if (kPrimes == 2) {
        bytes += low_bytes(form.sum_field_bits, chunk.used);
        pack_fields(bytes + tile_first / 8 * form.sum_field_bits[1], high_row, count,
                    (u32)form.sum_field_bits[1]);
    }
}
HEKAT_BLOCK_KERNEL(write_sum)

// values and counts (one a chunk) of a written sum, one block a chunk. Where a lane behind the last value is
// not zero or a coefficient does not end with its last digit *refused becomes 1, and they mean nothing.
HEKAT_KERNEL_OF_TWO(kMostThreads)
unmask_sum(i64* values, i64* counts, u32* refused, const u32* public_key, const u64* secret, u64 first_chunk,
           const u8* written, u64 byte_count, u64 value_count, u64 chunk_count, const u64* ring,
           const u64* form_words) {
    const MaskForm& form = load_form(form_words);
    const u64 number = block_index();
    const Chunk chunk = load_chunk(form, number, chunk_count, value_count);
    fill_masks(public_key, secret, first_chunk + number, ring, form);
    for_each_thread([&](u32 thread) {
        const u64 p0 = load_prime(ring, 0, (u32)form.degree).prime.value;
        const u64 p1 = load_prime(ring, kPrimes - 1, (u32)form.degree).prime.value;
        const u8* low_bytes_of_chunk = written + number * chunk_bytes(form.sum_field_bits, (u32)form.degree);
        const u8* high_bytes = low_bytes_of_chunk + low_bytes(form.sum_field_bits, chunk.used);
        const u8* end = written + byte_count;
        const Integer q = integer_of(form.modulus);
        const u64 half = (u64)1 << (form.lane_bits - 1);
        const u64 digit_mask = 2 * half - 1;
        u64 beyond = 0;
        for (u32 n = thread; n < chunk.used; n += block_threads()) {
            const u64 bit = n * form.sum_field_bits[0];
            Integer x = integer_of(read_field(low_bytes_of_chunk, bit, (u32)form.sum_field_bits[0], end));
            if (kPrimes == 2) {
                const u64 high_bit = n * form.sum_field_bits[1];
                const u64 high = read_field(high_bytes, high_bit, (u32)form.sum_field_bits[1], end);
                x = x + (integer_of(high) << form.sum_field_bits[0]);
            }
            Integer mask;
            compose(mask, row_of(0, form)[slot(n)], row_of(kPrimes - 1, form)[slot(n)], form, p0, p1);
            // Below 3.5 q: what is written has the bits of q, so is below 2 q.
            x = (x << form.sum_dropped) + (q + (q >> 1) - mask);
            const Integer y = reduce_once(reduce_once(x, q + q), q) + integer_of(form.to_quotient);
            beyond |= top_bit(y);
            Integer u = divide_integer(y, form);
            for (u32 j = 0; j < (u32)form.lanes; ++j) {
                const i64 digit = (i64)((low_word(u) & digit_mask) - half);
                u = u >> form.lane_bits;
                const u32 lane = j * chunk.used + n;
                if (lane == 0) {
                    counts[number] = digit;
                } else if (value_of_lane(lane) < chunk.value_count) {
                    values[chunk.first_value + value_of_lane(lane)] = digit;
                } else {
                    beyond |= (u64)digit;
                }
            }
            beyond |= beyond_lanes(u);
        }
        or_into(refused, ((beyond | (0 - beyond)) >> 63) != 0);
    });
}
HEKAT_BLOCK_KERNEL(unmask_sum)
