// Coefficients of opened sums, eight at a time: from phases to digits.
#include "bigint/reveal.hpp"
#include "ring/vector_double.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

constexpr Limb kMask51 = (Limb{1} << 51) - 1;

// Whether all words are zero; that may be known.
HEKAT_IFMA_INLINE bool is_zero(Vector x) {
    Limb any = 0;
    for (std::size_t i = 0; i < 8; ++i) any |= x[i];
    return reveal(any) == 0;
}

// All ones in the first `count` words, or in all.
HEKAT_IFMA_INLINE Vector first_words(std::size_t count) {
    return reinterpret_cast<Vector>(SignedVector{0, 1, 2, 3, 4, 5, 6, 7} < signed_of(spread(count)));
}

// Quotient and rest of x / delta for x below 2^52, x being a lane's low 52 bits.
class Division {
  public:
    HEKAT_IFMA_INLINE explicit Division(const MaskFormat& form)
        : delta_(spread(form.delta)), reciprocal_(spread(form.delta_reciprocal)), shift_(form.delta_shift) {}

    HEKAT_IFMA_INLINE Vector quotient(Vector x, Vector* rest) const {
        const Vector estimate = add_high(Vector{}, x, reciprocal_) >> shift_;
        const Vector left = x - add_low(Vector{}, estimate, delta_);  // below 2 delta
        const Vector reduced = left - delta_;
        *rest = least(left, reduced);
        return estimate + 1 - (reduced >> 63);
    }

  private:
    Vector delta_;
    Vector reciprocal_;
    unsigned shift_;
};

HEKAT_IFMA bool unmask_one(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues,
                           std::size_t used, const MaskFormat& form) {
    const VectorPrime prime(*form.primes[0]);
    const Limb p = form.primes[0]->value;
    const Division by_delta(form);
    const Vector centre = spread(p + p / 2);
    const Vector to_quotient = spread(static_cast<Limb>(form.to_quotient));
    const Vector digit_mask = spread((Limb{1} << form.lane_bits) - 1);
    const Vector half = spread(Limb{1} << (form.lane_bits - 1));
    const std::size_t stride = padded(used);
    Vector beyond{};
    for (std::size_t i = 0; i < stride / 8; ++i) {
        // Below 3.5 p.
        const Vector phase = (load(fields[0], i) << form.sum.dropped) + centre - load(residues[0], i);
        const Vector y = reduce_once(reduce_once(phase, prime.twice), prime.p) + to_quotient;
        Vector rest;
        Vector u = by_delta.quotient(y, &rest);
        beyond |= (y >> 63 | u >> (form.lanes * form.lane_bits)) & first_words(used - 8 * i);
        for (unsigned j = 0; j < form.lanes; ++j, u >>= form.lane_bits) {
            store(reinterpret_cast<Limb*>(lanes) + j * stride, i, (u & digit_mask) - half);
        }
    }
    return is_zero(beyond);
}

// residues = (phase + (q - 1) / 2) mod q, in place, of the written sums' fields.
HEKAT_IFMA void find_phases(Limb* const* residues, const Limb* const* fields, std::size_t stride,
                            const MaskFormat& form) {
    const Double q = spread_wide(form.modulus);
    const Double twice = spread_wide(2 * form.modulus);
    // Less q.
    const Double centre = spread_wide(form.modulus / 2) - q;
    const Vector mask = spread(kMask52);
    const unsigned dropped = form.sum.dropped;
    const unsigned place = form.sum.fields[0].width + dropped;  // of the high field
    for (std::size_t i = 0; i < stride / 8; ++i) {
        // The written sum times 2^dropped: a low field has at most 50 bits, with those dropped at most 70.
        const Vector low = load(fields[0], i);
        const Vector high = load(fields[1], i);
        Double written{low << dropped & mask, low >> (52 - dropped)};
        if (place < 52) {
            written.low |= high << place & mask;
            written.high |= high >> (52 - place);
        } else {
            written.high |= high << (place - 52);
        }
        // From [-3 q / 2, 3 q / 2) to [-q, q) to [0, q).
        const Double wide = carry(written + centre - load_double(residues, i));
        const Double phase = carry(add_in(negative_lanes(wide), wide - q, twice));
        store_double(residues, i, carry(add_if_negative(phase, q)));
    }
}

HEKAT_IFMA bool unmask_two(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues,
                           std::size_t used, const MaskFormat& form) {
    const Division by_delta(form);
    // Signed: what spread_wide takes for its upper word keeps the sign.
    const Double to_quotient = spread_wide(static_cast<Wide>(form.to_quotient));
    const Vector step_quotient = spread(form.step_quotient);
    const Vector step_rest = spread(form.step_rest);
    const Vector digit_mask = spread((Limb{1} << form.lane_bits) - 1);
    const Vector half = spread(Limb{1} << (form.lane_bits - 1));
    const Vector mask51 = spread(kMask51);
    const unsigned lane_bits = form.lane_bits;
    const unsigned digits_bits = form.lanes * lane_bits;
    const std::size_t stride = padded(used);
    Vector beyond{};
    compose(residues, stride, form);
    find_phases(residues, fields, stride, form);
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const Double y = carry(load_double(residues, i) + to_quotient);
        Vector rest;
        const Vector upper = by_delta.quotient(y.high << 1 | y.low >> 51, &rest);
        const Vector lower_part = add_low(y.low & mask51, rest, step_rest);
        const Vector more = add_low(Vector{}, rest, step_quotient);
        const Vector lower = by_delta.quotient(lower_part, &rest) + more;
        // u = lower + 2^51 upper, as 128 bits.
        const Vector u_low = lower | upper << 51;
        const Vector u_high = upper >> 13;
        const Vector over = digits_bits < 64 ? u_low >> digits_bits | u_high : u_high >> (digits_bits - 64);
        beyond |= (y.high >> 63 | over) & first_words(used - 8 * i);
        Limb* lane = reinterpret_cast<Limb*>(lanes) + 8 * i;
        for (unsigned shift = 0; shift < digits_bits; shift += lane_bits, lane += stride) {
            Vector digit = shift < 64 ? u_low >> shift : u_high >> (shift - 64);
            if (shift < 64 && shift + lane_bits > 64) digit |= u_high << (64 - shift);
            store(lane, 0, (digit & digit_mask) - half);
        }
    }
    return is_zero(beyond);
}

}  // namespace

bool unmask(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues, std::size_t used,
            const MaskFormat& form) {
    return form.primes.size() == 1 ? unmask_one(lanes, fields, residues, used, form)
                                   : unmask_two(lanes, fields, residues, used, form);
}

}  // namespace hekat::ring::vectors
