// Coefficients of masked elements: integers mod q of up to 100 bits, one after another, without branches.
#include "bigint/reveal.hpp"
#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {
namespace {

constexpr Limb kMask51 = (Limb{1} << 51) - 1;

inline Limb sign_of(Wide x) { return high_limb(x) >> 63; }

// x - q where x >= q, else x. x < 2^127.
inline Wide reduce_wide_once(Wide x, Wide q) {
    const Wide difference = x - q;
    const Limb below = mask_of_bit(sign_of(difference));
    return difference + (q & (Wide{below} << kLimbBits | below));
}

// The integer in [0, q) with these residues.
inline Wide compose(const Limb* const* residues, std::size_t n, const MaskFormat& form) {
    const Limb first = residues[0][n];
    if (form.primes.size() == 1) return first;
    const Limb p1 = form.primes[1]->value;
    const Limb h = multiply_by(residues[1][n] + form.lift - first, form.inverse, p1);
    return first + Wide{form.primes[0]->value} * reduce_once(h, p1);
}

// round(x / 2^dropped) as fields.
inline void write(Limb* const* fields, std::size_t n, Wide x, const WrittenLayout& layout) {
    const Wide rounded = (x + (Limb{1} << layout.dropped >> 1)) >> layout.dropped;
    fields[0][n] = low_limb(rounded) & layout.fields[0].mask;
    if (layout.fields.size() == 2) fields[1][n] = low_limb(rounded >> layout.fields[0].width);
}

// Quotient and rest of x / delta, x < 2^52.
struct Division {
    Limb quotient;
    Limb rest;
};
inline Division divide_by_delta(Limb x, const MaskFormat& form) {
    const Limb estimate = low_limb(Wide{x} * form.delta_reciprocal >> (52 + form.delta_shift));
    const Limb rest = x - estimate * form.delta;  // below 2 delta
    const Limb more = 1 + mask_of_bit((rest - form.delta) >> 63);
    return {estimate + more, rest - (form.delta & mask_of_bit(more))};
}

}  // namespace

bool mask(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes, std::size_t used,
          const MaskFormat& form) {
    const Limb half = Limb{1} << (form.lane_bits - 1);
    const Limb most = 2 * half - 2;
    const std::size_t stride = padded(used);
    Limb beyond = 0;
    for (std::size_t n = 0; n < used; ++n) {
        Wide u = 0;
        for (unsigned j = 0; j < form.lanes; ++j) {
            const Limb digit = static_cast<Limb>(std::int64_t{lanes[j * stride + n]}) + half;
            beyond |= (digit - 1) | (most - (digit - 1));
            u += Wide{digit} << (j * form.lane_bits);
        }
        const Wide error = static_cast<Wide>(static_cast<SignedWide>(errors[n]));
        const Wide x = compose(residues, n, form) + form.from_offset + error + form.delta * u;
        write(residues, n, reduce_wide_once(reduce_wide_once(x, form.modulus), form.modulus), form.one);
    }
    return reveal(beyond >> 63) == 0;
}

void round_sums(Limb* const* sums, std::size_t used, const MaskFormat& form) {
    for (std::size_t n = 0; n < used; ++n) {
        Limb residues[kMaxPrimes] = {};
        const Limb* const places[kMaxPrimes] = {&residues[0], &residues[1]};
        for (std::size_t i = 0; i < form.primes.size(); ++i) {
            const Limb p = form.primes[i]->value;
            for (std::size_t k = 0; k < form.primes.size(); ++k) {
                residues[i] += multiply_by(sums[k][n], form.sum_factors[i][k].low, p);
            }
            residues[i] = reduce_once(reduce_once(residues[i], 2 * p), p);
        }
        write(sums, n, compose(places, 0, form), form.sum);
    }
}

bool unmask(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues, std::size_t used,
            const MaskFormat& form) {
    const std::size_t stride = padded(used);
    const unsigned digits_bits = form.lanes * form.lane_bits;
    const Wide q = form.modulus;
    const Wide digit_mask = (Wide{1} << form.lane_bits) - 1;
    const Limb half = Limb{1} << (form.lane_bits - 1);
    Limb beyond = 0;
    for (std::size_t n = 0; n < used; ++n) {
        Wide written = fields[0][n];
        if (form.primes.size() == 2) written += Wide{fields[1][n]} << form.sum.fields[0].width;
        // Below 3.5 q: what is written has the bits of q, so is below 2 q.
        const Wide phase = (written << form.sum.dropped) + (q + q / 2 - compose(residues, n, form));
        const Wide y =
            reduce_wide_once(reduce_wide_once(phase, 2 * q), q) + static_cast<Wide>(form.to_quotient);
        const Division upper = divide_by_delta(low_limb(y >> 51), form);
        const Division lower = divide_by_delta(upper.rest * form.step_rest + (low_limb(y) & kMask51), form);
        Wide u = (Wide{upper.quotient} << 51) + upper.rest * form.step_quotient + lower.quotient;
        const Wide rest = u >> digits_bits;
        beyond |= sign_of(y) | low_limb(rest) | high_limb(rest);
        for (unsigned j = 0; j < form.lanes; ++j, u >>= form.lane_bits) {
            lanes[j * stride + n] = static_cast<std::int64_t>(low_limb(u & digit_mask) - half);
        }
    }
    return reveal(beyond) == 0;
}

}  // namespace hekat::ring::portable
