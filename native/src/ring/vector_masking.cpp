// Coefficients of masked elements, eight at a time: integers mod q as one word below 2^52, or, with two
// primes, as doubles.
#include "bigint/reveal.hpp"
#include "ring/vector_double.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

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

}  // namespace hekat::ring::vectors
