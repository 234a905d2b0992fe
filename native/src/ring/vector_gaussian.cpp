// Tries for numbers of a discrete Gaussian, eight at a time.
#include "bigint/reveal.hpp"
#include "ring/gaussian_tries.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

typedef double Numbers __attribute__((vector_size(64)));

}  // namespace

HEKAT_IFMA Kept keep_tries(std::int64_t* x, const Limb* words, std::size_t group_count,
                           const GaussianLaw& law) {
    static_assert(kTryGroup == 8 && kTryWords == 24);
    const Vector minus_one = Vector{} - 1;
    Vector any_open{};
    Kept kept{0, true};
    for (std::size_t group = 0; group < group_count; ++group) {
        const Vector u = load(words, 3 * group);
        Vector z = spread(law.thresholds.size());
        // In the end the least threshold that is not below u.
        Vector next = ~u;
        for (const Limb threshold : law.thresholds) {
            const __m512i each = bits_of(spread(threshold));
            const __mmask8 not_above = _mm512_cmple_epu64_mask(bits_of(u), each);
            z = vector_of(_mm512_mask_add_epi64(bits_of(z), not_above, bits_of(z), bits_of(minus_one)));
            next = vector_of(_mm512_mask_mov_epi64(bits_of(next), not_above, each));
        }
        Tries<Vector> tries;
        finish_tries<Vector, Numbers>(tries, z, load(words, 3 * group + 1), load(words, 3 * group + 2), law);
        const Vector apart = next ^ u;
        any_open |= tries.is_open | (~apart & (apart - 1));
        const __mmask8 is_kept = reveal(_mm512_movepi64_mask(bits_of(tries.is_kept)));
        _mm512_storeu_si512(x + kept.count, _mm512_maskz_compress_epi64(is_kept, bits_of(tries.x)));
        kept.count += static_cast<std::size_t>(__builtin_popcount(is_kept));
    }
    kept.are_decided = reveal(_mm512_movepi64_mask(bits_of(any_open))) == 0;
    return kept;
}

}  // namespace hekat::ring::vectors
