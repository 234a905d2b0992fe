// How values lie in masked ring elements (hekat.engine.ring.MaskFormat), and the constants of masking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bigint/limb.hpp"
#include "ring/fields.hpp"
#include "ring/prime.hpp"

namespace hekat::ring {

inline constexpr std::size_t kMaxPrimes = 2;
inline constexpr unsigned kMaxDroppedBits = 20;
inline constexpr unsigned kMaxDeltaBits = 20;
inline constexpr unsigned kMaxLanes = 8;
inline constexpr unsigned kMaxLaneBits = 44;

__extension__ typedef __int128 SignedWide;

// Fields of a chunk's elements as written, one layout for each prime.
struct WrittenLayout {
    WrittenLayout(unsigned modulus_bits, unsigned dropped_bits, std::size_t prime_count);

    // Of `used` coefficients.
    std::size_t bytes(std::size_t used) const;

    unsigned dropped;
    std::vector<FieldLayout> fields;
};

// The modulus q is the product of the primes, t = 2^(lanes lane_bits) the number of plaintexts of a
// coefficient, delta = floor(q / t). A plaintext m is worked on as u = m + offset, offset = sum of
// 2^(lane_bits
// - 1 + j lane_bits): its bits are the digits' bits, each 2^(lane_bits - 1) more than it says.
struct MaskFormat {
    // primes: one or two, of one degree, kept by the caller.
    MaskFormat(std::vector<const Prime*> ring_primes, unsigned lane_count, unsigned bits_of_lane,
               unsigned dropped_bits, unsigned sum_dropped_bits);

    std::size_t degree() const { return primes[0]->degree; }
    std::size_t values_per_chunk() const { return lanes * degree() - 1; }
    std::size_t chunk_count(std::size_t value_count) const;
    // Values and coefficients of chunk `chunk` of `value_count` values.
    std::size_t values_in(std::size_t chunk, std::size_t value_count) const;
    std::size_t used_in(std::size_t chunk, std::size_t value_count) const;
    // Fields of all chunks, and bytes of all chunks in a layout.
    std::size_t field_count(std::size_t value_count) const;
    std::size_t written_bytes(const WrittenLayout& layout, std::size_t value_count) const;

    std::vector<const Prime*> primes;
    unsigned lanes;
    unsigned lane_bits;
    Wide modulus;
    Limb delta;
    WrittenLayout one;  // of one contribution
    WrittenLayout sum;

    // u = floor((z + to_quotient) / delta) for z = (phase + (q - 1) / 2) mod q in [0, q).
    Wide offset;
    Wide from_offset;        // q - delta offset
    SignedWide to_quotient;  // floor(delta / 2) + delta offset - (q - 1) / 2
    // floor((2^(51 + bits of delta) - 1) / delta), and those bits less one: for quotients by delta.
    Limb delta_reciprocal;
    unsigned delta_shift;
    // 2^51 = step_quotient delta + step_rest.
    Limb step_quotient;
    Limb step_rest;

    // Two primes: x = r0 + p0 ((r1 - r0 + lift) / p0 mod p1), lift being a multiple of p1 that is at least
    // p0.
    Limb lift;
    Factor inverse;
    // For prime i, what a sum's field k counts for, a power of two times 2^dropped_bits mod p: its low 52
    // bits and those above, or all of it where factors are of 64 bits.
    struct SumFactors {
        Factor low;
        Factor high;
    };
    std::array<std::array<SumFactors, kMaxPrimes>, kMaxPrimes> sum_factors;
};

}  // namespace hekat::ring
