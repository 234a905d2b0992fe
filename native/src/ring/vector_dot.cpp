// Sums of products of rows in lower and upper halves of 52 bits, and their residues, eight slots at a time.
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

// Eight slots of a row whose words stand for `repeat` slots each.
struct Repeated {
    HEKAT_IFMA_INLINE explicit Repeated(std::size_t repeat)
        : words(8 / repeat), read(static_cast<__mmask8>((1U << words) - 1)), places{} {
        for (std::size_t i = 0; i < 8; ++i) places[i] = i / repeat;
    }

    HEKAT_IFMA_INLINE Vector at(const Limb* x, std::size_t vector) const {
        const __m512i found = _mm512_maskz_loadu_epi64(read, x + vector * words);
        return vector_of(_mm512_maskz_permutexvar_epi64(kAllWords, bits_of(places), found));
    }

    std::size_t words;
    __mmask8 read;
    Vector places;
};

template <std::size_t columns>
HEKAT_IFMA_INLINE void add_to_columns(Limb* sums, std::size_t count, const Terms& terms, const Limb* y) {
    const Repeated factors(terms.x_repeat);
    for (std::size_t v = 0; v < count / 8; ++v) {
        Vector low[columns];
        Vector high[columns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < columns; ++c) {
            low[c] = load(sums + 2 * c * count, v);
            high[c] = load(sums + (2 * c + 1) * count, v);
        }
        const Limb* x_term = terms.x;
        const Limb* y_term = y;
        for (std::size_t k = 0; k < terms.count; ++k) {
            const Vector factor = factors.at(x_term, v);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < columns; ++c) {
                const Vector other = load(y_term + c * terms.y_column_stride, v);
                low[c] = add_low(low[c], factor, other);
                high[c] = add_high(high[c], factor, other);
            }
            x_term += terms.x_stride;
            y_term += terms.y_stride;
        }
#pragma GCC unroll 4
        for (std::size_t c = 0; c < columns; ++c) {
            store(sums + 2 * c * count, v, low[c]);
            store(sums + (2 * c + 1) * count, v, high[c]);
        }
    }
}

}  // namespace

HEKAT_IFMA void add_terms(Limb* sums, std::size_t count, const Terms& terms) {
    const Limb* y = terms.y;
    std::size_t left = terms.columns;
    for (; left >= 4; left -= 4, sums += 8 * count, y += 4 * terms.y_column_stride) {
        add_to_columns<4>(sums, count, terms, y);
    }
    if (left == 3) add_to_columns<3>(sums, count, terms, y);
    if (left == 2) add_to_columns<2>(sums, count, terms, y);
    if (left == 1) add_to_columns<1>(sums, count, terms, y);
}

HEKAT_IFMA void reduce_terms(Limb* z, const Limb* sums, std::size_t count, const Prime& tables) {
    const Reduction reduction(tables);
    const Factor carry = tables.factor((Limb{1} << 52) % tables.value);
    for (std::size_t v = 0; v < count / 8; ++v) {
        store(z, v, reduction.canonical(load(sums, v), load(sums + count, v), carry));
    }
}

}  // namespace hekat::ring::vectors
