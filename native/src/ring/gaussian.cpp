// Blocks of numbers from their streams, shared out over the threads.
#include "ring/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bigint/secret_buffer.hpp"

namespace hekat::ring {
namespace {

constexpr std::size_t kTryBlocks = 3;  // of the stream, for each group of tries
constexpr double kTryNs = 15;

// About as many groups of tries as `missing` numbers take.
std::size_t groups_for(std::size_t missing) {
    return std::min(kMostTryGroups, (missing + missing / 4) / kTryGroup + 2);
}

bool sample_block(const Kernels& kernels, std::int64_t* x, const Stream& stream, std::size_t count,
                  const GaussianLaw& law) {
    SecretArray<Limb, kMostTryGroups * kTryWords> words;
    SecretArray<std::int64_t, kMostTryGroups * kTryGroup + kTryGroup> kept;
    bool is_decided = true;
    std::uint32_t counter = 0;
    for (std::size_t found = 0; found < count;) {
        const std::size_t groups = groups_for(count - found);
        kernels.key_stream(reinterpret_cast<std::uint8_t*>(words.data()), stream, counter,
                           groups * kTryBlocks);
        counter += static_cast<std::uint32_t>(groups * kTryBlocks);
        const Kept tried = kernels.keep_tries(kept.data(), words.data(), groups, law);
        is_decided = is_decided && tried.are_decided;
        const std::size_t taken = std::min(tried.count, count - found);
        std::memcpy(x + found, kept.data(), taken * sizeof(*x));
        found += taken;
    }
    return is_decided;
}

}  // namespace

GaussianLaw make_gaussian(Limb base, unsigned doublings, Limb limit, const std::vector<Limb>& thresholds,
                          Limb margin) {
    return {doublings,
            std::ldexp(1.0, -static_cast<int>(doublings)),
            std::ldexp(1.0, kGaussianBaseBits - 1) / static_cast<double>(base),
            limit,
            margin,
            {thresholds.rbegin(), thresholds.rend()}};
}

void sample_gaussian(ThreadPool& pool, CpuPath path, std::int64_t* x, std::uint8_t* undecided, const Key& key,
                     Limb first_block, std::size_t count, const GaussianLaw& law) {
    const Kernels& kernels = kernels_of(path);
    const std::size_t block_count = (count + kBlockNumbers - 1) / kBlockNumbers;
    pool.run(block_count, kTryNs * kBlockNumbers, [&](std::size_t begin, std::size_t end) {
        for (std::size_t block = begin; block < end; ++block) {
            ThreadPool::checkpoint();
            const std::size_t at = block * kBlockNumbers;
            const bool is_decided =
                sample_block(kernels, x + at, key.stream(Key::kGaussian, first_block + block),
                             std::min(kBlockNumbers, count - at), law);
            undecided[block] = is_decided ? 0 : 1;
        }
    });
}

}  // namespace hekat::ring
