// What the operations on ring elements are made of, once for each path of arithmetic.
//
// Everything is constant time, but for the rejection in `sample_uniform`, which shows how many words were no
// residues, for `keep_tries`, which shows which tries are kept and whether all are decided, and for
// `transform_plaintext` and `add_windows`, which add up one place or digit after another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bigint/limb.hpp"
#include "cpu/features.hpp"
#include "ring/bin_factors.hpp"
#include "ring/bin_places.hpp"
#include "ring/fields.hpp"
#include "ring/mask_format.hpp"
#include "ring/prime.hpp"

namespace hekat::ring {

inline constexpr std::size_t kBlockBytes = 64;

// A ChaCha20 key, as eight words, and a nonce: RFC 8439.
struct Stream {
    const std::uint32_t* key;
    std::array<std::uint32_t, 3> nonce;
};

// The room that arrays of `count` items have to have: kernels work on whole vectors.
inline std::size_t padded(std::size_t count) { return (count + 7) / 8 * 8; }

// Products of `count` plaintexts by elements of some components.
struct BinProducts {
    std::size_t count;
    std::size_t components;
    std::size_t words;
    std::size_t x_stride;
    std::size_t stride;
    std::size_t sums_stride;
    const std::size_t* offsets;
};

// Terms of a matrix product: term k's factor of a row, at x + k x_stride, each word for x_repeat slots (1, 2,
// 4 or 8), and the columns' factors, column c's at y + k y_stride + c y_column_stride.
struct Terms {
    std::size_t count;  // up to kMostTerms
    const Limb* x;
    std::size_t x_stride;
    std::size_t x_repeat;
    std::size_t columns;  // up to kMostColumns
    const Limb* y;
    std::size_t y_stride;
    std::size_t y_column_stride;
};

inline constexpr std::size_t kMostTerms = 8;
inline constexpr std::size_t kLeastFirst = 64;
inline constexpr std::size_t kMostColumns = 16;

// What floor_fractions multiplies residues by: for each prime a fraction in digits of fraction_digit_bits,
// digit d of prime i at factors[d * prime_count + i], least significant first. `behind` digits stand behind
// the point, and those before it hold `bits` bits.
struct FractionDigits {
    std::size_t prime_count;
    std::size_t count;
    std::size_t behind;
    unsigned bits;
    const Limb* factors;
};

inline constexpr std::size_t kMostModulusPrimes = 8;

// A discrete Gaussian, of s = 2^doublings s0.
struct GaussianLaw {
    unsigned doublings;
    double step;                   // 2^-doublings
    double scale;                  // 1 / (2 s0^2), from 1/32 to 1/8
    Limb limit;                    // of kept numbers, below 2^47
    Limb margin;                   // 2^-52 of it and less from a chance is too near to tell
    std::vector<Limb> thresholds;  // descending: floor(2^64 C_j), up to kMostThresholds
};

inline constexpr std::size_t kMostThresholds = 39;

inline constexpr Limb kGaussianMargin = 64;
// Tries come in groups, which take three words each: eight u, eight v, eight r.
inline constexpr std::size_t kTryGroup = 8;
inline constexpr std::size_t kTryWords = 3 * kTryGroup;
inline constexpr std::size_t kMostTryGroups = 16;

// How many tries were kept, and whether their words told of all of them which.
struct Kept {
    std::size_t count;
    bool are_decided;
};

struct Kernels {
    // block_count blocks of key stream from block `counter` on; the counter does not wrap.
    void (*key_stream)(std::uint8_t* out, const Stream& stream, std::uint32_t counter,
                       std::size_t block_count);

    // a (N residues) = the stream's words, each masked to the prime's bits, those below it in their order.
    void (*sample_uniform)(Limb* a, const Prime& prime, const Stream& stream);

    // e (count, room for a multiple of 128) = ones among bits 0 to 20, less those among bits 21 to 41, of
    // each of the stream's words.
    void (*sample_cbd)(std::int8_t* e, std::size_t count, const Stream& stream);

    // x (room for all tries and a group more) = the kept numbers of group_count groups of tries, in order.
    Kept (*keep_tries)(std::int64_t* x, const Limb* words, std::size_t group_count, const GaussianLaw& law);

    // a (N canonical residues) is transformed, in place; back; back after the product with the factors w,
    // slot by slot.
    void (*transform)(Limb* a, const Prime& prime);
    // The same where a's coefficients from `first` on count as 0, whatever stands there: a power of two from
    // kLeastFirst to N.
    void (*transform_first)(Limb* a, std::size_t first, const Prime& prime);
    // z (count canonical residues, count a multiple of 8) of any integers.
    void (*take_residues)(Limb* z, const std::int64_t* values, std::size_t count, const Prime& prime);
    void (*invert_transform)(Limb* a, const Prime& prime);
    void (*invert_product)(Limb* a, const Limb* w, const Limb* quotients, const Prime& prime);

    // z (count canonical residues, count a multiple of 8) from a and b. z may be either.
    void (*add)(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);
    void (*subtract)(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);
    void (*multiply)(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);

    // z = (a - c) / dropped mod the prime, c being last, residues mod an odd prime, taken from [-h, h], h =
    // dropped / 2. inverse: of `dropped`. count is a multiple of 8; z may be a.
    void (*drop_prime)(Limb* z, const Limb* a, const Limb* last, std::size_t count, Limb dropped,
                       const Factor& inverse, const Prime& prime);

    // The quotients that make factors (Prime::factor) of count canonical residues w.
    void (*find_quotients)(Limb* quotients, const Limb* w, std::size_t count, const Prime& prime);

    // count fields below 2^width to layout.bytes(count) bytes, padding zero; back; and back onto sums. Fields
    // have room for a multiple of 8 where they are written, sums need none.
    void (*pack)(std::uint8_t* bytes, const Limb* fields, std::size_t count, const FieldLayout& layout);
    void (*unpack)(Limb* fields, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout);
    void (*unpack_onto)(Limb* sums, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout);

    // The coefficients of one chunk, `used` of them; every array has room for padded(used).
    //
    // residues[i] (canonical, mod prime i) become the fields of round((r + e + delta m) / 2^dropped_bits), m
    // being made of lane j of coefficient n at lanes[j * padded(used) + n]. Returns whether all lanes fit.
    bool (*mask)(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes,
                 std::size_t used, const MaskFormat& form);
    // sums[i], of fields number i, become the fields of round((sum 2^dropped_bits mod q) /
    // 2^sum_dropped_bits).
    void (*round_sums)(Limb* const* sums, std::size_t used, const MaskFormat& form);
    // lanes[j * padded(used) + n] = digit j of coefficient n of what the fields of a written sum hold under
    // the mask with the canonical residues, which are used up. Returns whether every coefficient ends with
    // its last digit.
    bool (*unmask)(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues, std::size_t used,
                   const MaskFormat& form);

    // The parts of sums by bin, each on one of so many slices of a row, `words` = N / bin_slices
    // (ring/bin_factors.hpp). A slice is worked on eight slots, one vector, after the other; what belongs
    // together stands side by side, and the next vectors' follow a stride of words behind.
    std::size_t bin_slices;
    // z = the slice of a row of canonical residues.
    void (*take_slice)(Limb* z, std::size_t stride, const Limb* row, std::size_t slice, const Prime& prime);
    // z = the slice of a plaintext's transform, in one piece; only for add_products.
    void (*transform_plaintext)(Limb* z, const SparsePlaintext& plaintext, std::size_t slice,
                                const BinFactors& factors, const Prime& prime);
    // sums, a lower and an upper vector for each component, += the sums over k of plaintext k, of
    // transform_plaintext, times the elements at offsets[k]: up to kMostProducts in all before they are put.
    void (*add_products)(Limb* sums, const Limb* x, const Limb* elements, const BinProducts& products);
    // The slice of a row = the sums of one component, canonical; where `adds`, with what the row holds.
    void (*put_slice)(Limb* row, const Limb* sums, std::size_t stride, std::size_t slice, bool adds,
                      const Prime& prime);

    // For each n of `count`, digit d = digits[n] from 0 on (none below), e = d mod window and i < window:
    // sums[d - e + i] += row[n window - e + i].
    void (*add_windows)(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count,
                        std::size_t window);
    // count (a multiple of 8) sums of up to 2^13 canonical residues to canonical residues, in place.
    void (*reduce)(Limb* z, std::size_t count, const Prime& prime);
    // z = the first `window` coefficients of what a, canonical, is the transform of; a is used up.
    void (*invert_first)(Limb* z, std::size_t window, Limb* a, const Prime& prime);

    // sums, for each column a row of `count` lower halves (a multiple of 8) and one of upper halves, += the
    // terms' products: up to kMostProducts in all before they are reduced.
    void (*add_terms)(Limb* sums, std::size_t count, const Terms& terms);
    // z (canonical) = the sums of one column.
    void (*reduce_terms)(Limb* z, const Limb* sums, std::size_t count, const Prime& prime);

    unsigned fraction_digit_bits;
    // For each n of `count`, a multiple of 8: low and high limb of the sum over the primes of the residue at
    // rows[i * stride + n] times prime i's fraction, without what is behind the point, mod 2^bits.
    void (*floor_fractions)(Limb* low, Limb* high, const Limb* rows, std::size_t stride, std::size_t count,
                            const FractionDigits& digits);
};

inline constexpr std::size_t kMostProducts = 1 << 10;

const Kernels& kernels_of(CpuPath path);

}  // namespace hekat::ring
