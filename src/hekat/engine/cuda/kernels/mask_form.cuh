// How values lie in masked ring elements (MaskFormat in engine/ring/parameters.py), and arithmetic mod q on
// their coefficients.
//
// Compile option HEKAT_PRIMES: how many primes q is the product of, 1 or 2. With one, a word holds all
// integers here; with two they are of up to 104 bits. Everything is without branches that depend on them.
//
// The modulus is q, t = 2^(lanes lane_bits) the number of plaintexts of a coefficient, delta = floor(q / t).
// A plaintext m is worked on as u = m + offset, offset = sum of 2^(lane_bits - 1 + j lane_bits): its bits are
// the bits of the digits, each plus 2^(lane_bits - 1).
#pragma once

#include "fields.cuh"
#include "wide.cuh"

#ifndef HEKAT_PRIMES
#define HEKAT_PRIMES 1
#endif

namespace hekat {

constexpr u32 kPrimes = HEKAT_PRIMES;
static_assert(kPrimes == 1 || kPrimes == 2, "a ring has one or two primes");

template <u32 primes>
struct IntegerOf {
    using Type = Wide;
};
template <>
struct IntegerOf<1> {
    using Type = u64;
};
using Integer = typename IntegerOf<kPrimes>::Type;

// As `form_words` in engine/cuda/ring_tables.py writes it; integers of two words, the low one first.
struct alignas(16) MaskForm {
    u64 degree;
    u64 lanes;
    u64 lane_bits;
    u64 delta;
    u64 dropped;
    u64 sum_dropped;
    u64 field_bits[2];
    u64 sum_field_bits[2];
    u64 modulus[2];
    u64 from_offset[2];  // q - delta offset
    // u = floor((z + to_quotient) / delta) for z = (phase + (q - 1) / 2) mod q:
    u64 to_quotient[2];    // floor(delta / 2) + delta offset - (q - 1) / 2, signed
    u64 delta_shift;       // bits of delta less one
    u64 delta_reciprocal;  // floor((2^(64 + delta_shift) - 1) / delta)
    u64 step_quotient;     // 2^51 = step_quotient delta + step_rest
    u64 step_rest;
    u64 lift;  // the least multiple of the second prime that is at least the first
    u64 padding;
    Factor inverse;            // of the first prime, mod the second
    Factor sum_factors[2][2];  // [i][k]: 2^(dropped + what field k counts for) mod prime i
};

HEKAT_DEVICE const MaskForm& load_form(const u64* words) { return *reinterpret_cast<const MaskForm*>(words); }

HEKAT_DEVICE Integer integer_of(const u64 (&words)[2]) {
    Integer x;
    set_integer(x, words[0], words[1]);
    return x;
}
HEKAT_DEVICE Integer integer_of(u64 low) {
    Integer x;
    set_integer(x, low, 0);
    return x;
}
HEKAT_DEVICE Integer integer_of_signed(i64 x) {
    Integer z;
    set_integer(z, (u64)x, 0 - ((u64)x >> 63));
    return z;
}

// Where a chunk of a block of values lies.
struct Chunk {
    u32 used;         // coefficients
    u32 value_count;  // values
    u64 first_value;
};

HEKAT_DEVICE Chunk load_chunk(const MaskForm& form, u64 number, u64 chunk_count, u64 value_count) {
    const u64 full = form.lanes * form.degree - 1;
    const u64 first = number * full;
    if (number + 1 < chunk_count) return {(u32)form.degree, (u32)full, first};
    const u32 rest = (u32)(value_count - first);
    return {(rest + (u32)form.lanes) / (u32)form.lanes, rest, first};
}

// Bytes of the low fields of `used` coefficients, and of both.
HEKAT_DEVICE u32 low_bytes(const u64 (&bits)[2], u32 used) { return (used * (u32)bits[0] + 7) / 8; }
HEKAT_DEVICE u32 chunk_bytes(const u64 (&bits)[2], u32 used) {
    return low_bytes(bits, used) + (kPrimes == 2 ? (used * (u32)bits[1] + 7) / 8 : 0);
}

// x - m where x >= m, else x; neither has its top bit set.
HEKAT_DEVICE Wide reduce_once(Wide x, Wide m) {
    const Wide difference = x - m;
    const u64 is_below = 0 - top_bit(difference);
    return difference + (m & Wide{is_below, is_below});
}

// The integer in [0, q) with these canonical residues.
HEKAT_DEVICE void compose(u64& x, u64 first, u64, const MaskForm&, u64, u64) { x = first; }
HEKAT_DEVICE void compose(Wide& x, u64 first, u64 second, const MaskForm& form, u64 p0, u64 p1) {
    const u64 h = reduce_once(multiply_by(second + form.lift - first, form.inverse, p1), p1);
    x = Wide{p0 * h, high_product(p0, h)} + Wide{first, 0};
}

// The fields of round(x / 2^dropped).
struct Fields {
    u64 low;
    u64 high;
};
HEKAT_DEVICE Fields round_to_fields(Integer x, u64 dropped, const u64 (&bits)[2]) {
    const Integer rounded = (x + integer_of(((u64)1 << dropped) >> 1)) >> dropped;
    const u64 mask = ((u64)1 << bits[0]) - 1;
    return {low_word(rounded) & mask, kPrimes == 2 ? low_word(rounded >> bits[0]) : 0};
}

// Quotient and rest of x < 2^52 by delta.
HEKAT_DEVICE Division divide_by_delta(u64 x, const MaskForm& form) {
    const u64 estimate = high_product(x, form.delta_reciprocal) >> form.delta_shift;
    const u64 less = x - estimate * form.delta - form.delta;
    const u64 is_below = less >> 63;
    return {estimate + 1 - is_below, less + (form.delta & (0 - is_below))};
}

// floor(y / delta) for y below 3 q.
HEKAT_DEVICE u64 divide_integer(u64 y, const MaskForm& form) { return divide_by_delta(y, form).quotient; }
HEKAT_DEVICE Wide divide_integer(Wide y, const MaskForm& form) {
    const u64 mask = ((u64)1 << 51) - 1;
    const Division upper = divide_by_delta(low_word(y >> 51), form);
    const Division lower = divide_by_delta(upper.rest * form.step_rest + (y.low & mask), form);
    const Wide high = Wide{upper.quotient << 51, upper.quotient >> 13};
    return high + Wide{upper.rest * form.step_quotient, 0} + Wide{lower.quotient, 0};
}

// x / 2^(lane_bits lanes) where that is not 0, or something else that is not 0; else 0.
HEKAT_DEVICE u64 beyond_lanes(u64 rest) { return rest; }
HEKAT_DEVICE u64 beyond_lanes(Wide rest) { return rest.low | rest.high; }

}  // namespace hekat
