// Coefficients of masked elements, eight at a time: integers mod q as one word below 2^52, or, with two
// primes, as two such words.
#include "bigint/reveal.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

constexpr Limb kMask51 = (Limb{1} << 51) - 1;

typedef std::int64_t SignedVector __attribute__((vector_size(64)));

HEKAT_IFMA_INLINE SignedVector signed_of(Vector x) { return reinterpret_cast<SignedVector>(x); }

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

// low + 2^52 high. "Loose": low may be anything, signed, that its sums left.
struct Double {
    Vector low;
    Vector high;
};

HEKAT_IFMA_INLINE Double spread_wide(Wide x) {
    return {spread(low_limb(x) & kMask52), spread(low_limb(x >> 52))};
}
HEKAT_IFMA_INLINE Double operator+(Double x, Double y) { return {x.low + y.low, x.high + y.high}; }
HEKAT_IFMA_INLINE Double operator-(Double x, Double y) { return {x.low - y.low, x.high - y.high}; }

// low in [0, 2^52), high signed.
HEKAT_IFMA_INLINE Double carry(Double x) {
    return {x.low & spread(kMask52), x.high + reinterpret_cast<Vector>(signed_of(x.low) >> 52)};
}

// The lanes in which a carried double is negative.
HEKAT_IFMA_INLINE __mmask8 negative_lanes(Double x) { return _mm512_movepi64_mask(bits_of(x.high)); }

// x + m in the chosen lanes, x in the others.
HEKAT_IFMA_INLINE Double add_in(__mmask8 chosen, Double x, Double m) {
    return {vector_of(_mm512_mask_add_epi64(bits_of(x.low), chosen, bits_of(x.low), bits_of(m.low))),
            vector_of(_mm512_mask_add_epi64(bits_of(x.high), chosen, bits_of(x.high), bits_of(m.high)))};
}

// From [-m, m) to [0, m), loose.
HEKAT_IFMA_INLINE Double add_if_negative(Double x, Double m) { return add_in(negative_lanes(x), x, m); }

// From [-m, 3 m / 2) to [-m, m / 2), loose; minus_m is -m.
HEKAT_IFMA_INLINE Double subtract_unless_negative(Double x, Double minus_m) {
    return add_in(static_cast<__mmask8>(~negative_lanes(x)), x, minus_m);
}

HEKAT_IFMA_INLINE Double load_double(const Limb* const* rows, std::size_t i) {
    return {load(rows[0], i), load(rows[1], i)};
}
HEKAT_IFMA_INLINE void store_double(Limb* const* rows, std::size_t i, Double x) {
    store(rows[0], i, x.low);
    store(rows[1], i, x.high);
}

// With two primes the work is cut into passes over a piece: a processor looks ahead from one short chain of
// instructions to the next, but not beyond a long one.

// Two primes' residues to the integers in [0, q) that have them, in place.
HEKAT_IFMA void compose(Limb* const* rows, std::size_t stride, const MaskFormat& form) {
    const Vector lift = spread(form.lift);
    const Vector inverse = spread(form.inverse.value);
    const Vector quotient = spread(form.inverse.quotient);
    const Vector first = spread(form.primes[0]->value);
    const VectorPrime second(*form.primes[1]);
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const Vector r0 = load(rows[0], i);
        const Vector product = multiply_by(load(rows[1], i) + lift - r0, inverse, quotient, second);
        const Vector h = reduce_once(product, second.p);
        store_double(rows, i, carry({add_low(r0, first, h), add_high(Vector{}, first, h)}));
    }
}

// round(x / 2^dropped) as fields, x below 2^52 or a loose double.
class Writer {
  public:
    HEKAT_IFMA_INLINE explicit Writer(const WrittenLayout& layout)
        : half_(spread(Limb{1} << layout.dropped >> 1)),
          mask_(spread(layout.fields[0].mask)),
          dropped_(layout.dropped),
          width_(layout.fields[0].width) {}

    HEKAT_IFMA_INLINE void write(Limb* const* fields, std::size_t i, Vector x) const {
        store(fields[0], i, (x + half_) >> dropped_);
    }
    HEKAT_IFMA_INLINE void write(Limb* const* fields, std::size_t i, Double x) const {
        const Double rounded = carry({x.low + half_, x.high});
        const Vector low = rounded.low >> dropped_ | rounded.high << (52 - dropped_);
        const Vector high = rounded.high >> (12 + dropped_);
        store(fields[0], i, low & mask_);
        store(fields[1], i, low >> width_ | high << (64 - width_));
    }

  private:
    Vector half_;
    Vector mask_;
    unsigned dropped_;
    unsigned width_;
};

// Whether all of `count` lanes, a multiple of 8, fit.
HEKAT_IFMA bool lanes_fit(const std::int32_t* lanes, std::size_t count, unsigned lane_bits) {
    if (lane_bits > 32) return true;
    __m512i least = _mm512_setzero_si512();
    __m512i most = _mm512_setzero_si512();
    for (std::size_t i = 0; i < count; i += 16) {
        const __mmask16 present = count - i >= 16 ? 0xffff : 0xff;
        const __m512i numbers = _mm512_maskz_loadu_epi32(present, lanes + i);
        least = _mm512_maskz_min_epi32(0xffff, least, numbers);
        most = _mm512_maskz_max_epi32(0xffff, most, numbers);
    }
    std::int32_t ends[32];
    _mm512_storeu_si512(ends, least);
    _mm512_storeu_si512(ends + 16, most);
    const std::int64_t bound = (std::int64_t{1} << (lane_bits - 1)) - 1;
    std::int64_t beyond = 0;  // the sign
    for (const std::int32_t end : ends) beyond |= (bound - end) | (bound + end);
    return reveal(beyond >> 63) == 0;
}

// Eight lanes from x on.
HEKAT_IFMA_INLINE Vector read_lanes(const std::int32_t* x) {
    const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    return vector_of(_mm512_maskz_cvtepi32_epi64(kAllWords, numbers));
}

HEKAT_IFMA_INLINE Vector read_errors(const std::int8_t* errors, std::size_t i) {
    const __m128i numbers = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(errors + 8 * i));
    return vector_of(_mm512_maskz_cvtepi8_epi64(kAllWords, numbers));
}

HEKAT_IFMA void mask_one(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes,
                         std::size_t stride, const MaskFormat& form) {
    const VectorPrime prime(*form.primes[0]);
    const Writer writer(form.one);
    const Vector delta = spread(form.delta);
    const Vector from_offset = spread(low_limb(form.from_offset));
    const Vector offset = spread(low_limb(form.offset));
    const unsigned digits_bits = form.lanes * form.lane_bits;
    const unsigned lane_bits = form.lane_bits;
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const std::int32_t* lane = lanes + 8 * i;
        Vector u = read_lanes(lane) + offset;
        for (unsigned shift = lane_bits; shift < digits_bits; shift += lane_bits) {
            u += read_lanes(lane += stride) << shift;
        }
        // Below 2.5 p.
        const Vector x = add_low(load(residues[0], i) + read_errors(errors, i) + from_offset, u, delta);
        writer.write(residues, i, reduce_once(reduce_once(x, prime.p), prime.p));
    }
}

HEKAT_IFMA void mask_two(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes,
                         std::size_t stride, const MaskFormat& form) {
    const Writer writer(form.one);
    const Double q = spread_wide(form.modulus);
    const Double minus_q = Double{} - q;
    const Double from_offset = spread_wide(form.from_offset) - q;
    const Vector delta = spread(form.delta);
    const Vector half = spread(Limb{1} << (form.lane_bits - 1));
    const Vector mask = spread(kMask52);
    const unsigned digits_bits = form.lanes * form.lane_bits;
    const unsigned lane_bits = form.lane_bits;
    compose(residues, stride, form);
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const std::int32_t* lane = lanes + 8 * i;
        Double u{read_lanes(lane) + half, Vector{}};
        for (unsigned shift = lane_bits; shift < digits_bits; shift += lane_bits) {
            const Vector digit = read_lanes(lane += stride) + half;
            if (shift >= 52) {
                u.high |= digit << (shift - 52);
                continue;
            }
            u.low |= digit << shift & mask;
            if (shift + lane_bits > 52) u.high |= digit >> (52 - shift);
        }
        Double x = load_double(residues, i) + from_offset;
        x.low = add_low(x.low + read_errors(errors, i), u.low, delta);
        x.high = add_low(add_high(x.high, u.low, delta), u.high, delta);
        x = carry(subtract_unless_negative(carry(x), minus_q));
        writer.write(residues, i, add_if_negative(x, q));
    }
}

// The residue of a sum of fields, times 2^dropped_bits.
class SumReduction {
  public:
    HEKAT_IFMA_INLINE SumReduction(const MaskFormat& form, std::size_t i)
        : factors_(form.sum_factors[i]), prime_(*form.primes[i]) {}

    HEKAT_IFMA_INLINE Vector operator()(Vector sum) const {
        return reduce_once(multiply(sum, factors_[0]), prime_.p);
    }
    HEKAT_IFMA_INLINE Vector operator()(Vector low, Vector high) const {
        const Vector residue = multiply(low, factors_[0]) + multiply(high, factors_[1]);
        return reduce_once(reduce_once(residue, prime_.twice), prime_.p);
    }

  private:
    // Below 2 p.
    HEKAT_IFMA_INLINE Vector multiply(Vector sum, const MaskFormat::SumFactors& factors) const {
        return reduce_once(
            multiply_by(sum, factors.low, prime_) + multiply_by(sum >> 52, factors.high, prime_),
            prime_.twice);
    }

    const std::array<MaskFormat::SumFactors, kMaxPrimes>& factors_;
    VectorPrime prime_;
};

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

bool mask(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes, std::size_t used,
          const MaskFormat& form) {
    const std::size_t stride = padded(used);
    if (!lanes_fit(lanes, form.lanes * stride, form.lane_bits)) return false;
    if (form.primes.size() == 1) {
        mask_one(residues, errors, lanes, stride, form);
    } else {
        mask_two(residues, errors, lanes, stride, form);
    }
    return true;
}

HEKAT_IFMA void round_sums(Limb* const* sums, std::size_t used, const MaskFormat& form) {
    const Writer writer(form.sum);
    const SumReduction first(form, 0);
    if (form.primes.size() == 1) {
        for (std::size_t i = 0; i < padded(used) / 8; ++i) {
            writer.write(sums, i, first(load(sums[0], i)));
        }
        return;
    }
    const SumReduction second(form, 1);
    const std::size_t stride = padded(used);
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const Double sum = load_double(sums, i);
        store_double(sums, i, {first(sum.low, sum.high), second(sum.low, sum.high)});
    }
    compose(sums, stride, form);
    for (std::size_t i = 0; i < stride / 8; ++i) writer.write(sums, i, load_double(sums, i));
}

bool unmask(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues, std::size_t used,
            const MaskFormat& form) {
    return form.primes.size() == 1 ? unmask_one(lanes, fields, residues, used, form)
                                   : unmask_two(lanes, fields, residues, used, form);
}

}  // namespace hekat::ring::vectors
