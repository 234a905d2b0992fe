// Tries for numbers of a discrete Gaussian, four at a time.
#include <array>
#include <cstring>

#include "bigint/reveal.hpp"
#include "ring/gaussian_tries.hpp"
#include "ring/portable.hpp"

namespace hekat::ring::portable {
namespace {

constexpr std::size_t kLanes = 8;
typedef Limb Words __attribute__((vector_size(8 * kLanes)));
typedef double Numbers __attribute__((vector_size(8 * kLanes)));

inline void load(Words& z, const Limb* words) { std::memcpy(&z, words, sizeof z); }

}  // namespace

Kept keep_tries(std::int64_t* x, const Limb* words, std::size_t group_count, const GaussianLaw& law) {
    // 63 digits, so that signs compare.
    std::array<Words, kMostThresholds> thresholds;
    const std::size_t threshold_count = law.thresholds.size();
    for (std::size_t j = 0; j < threshold_count; ++j) thresholds[j] = Words{} + (law.thresholds[j] >> 1);
    Words any_open{};
    Kept kept{0, true};
    for (std::size_t group = 0; group < group_count; ++group) {
        for (std::size_t i = 0; i < kTryGroup; i += kLanes) {
            const Limb* const own = words + group * kTryWords + i;
            Words u;
            Words v;
            Words r;
            load(u, own);
            load(v, own + kTryGroup);
            load(r, own + 2 * kTryGroup);
            u >>= 1;
            Words z = Words{} + threshold_count;
            for (std::size_t j = 0; j < threshold_count; ++j) {
                const Words above = u - thresholds[j];
                const Words not_above = above - 1;
                z -= not_above >> 63;
                any_open |= above ^ not_above;
            }
            Tries<Words> tries;
            finish_tries<Words, Numbers>(tries, z, v, r, law);
            any_open |= tries.is_open;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                x[kept.count] = static_cast<std::int64_t>(tries.x[lane]);
                kept.count += reveal(tries.is_kept[lane] >> 63);
            }
        }
    }
    Limb open = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) open |= any_open[lane];
    kept.are_decided = reveal(open >> 63) == 0;
    return kept;
}

}  // namespace hekat::ring::portable
