// Numbers of a discrete Gaussian from a key: the contract of sample_discrete_gaussian is in
// src/hekat/engine/ring/interface.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch/thread_pool.hpp"
#include "ring/kernels.hpp"
#include "ring/ring.hpp"

namespace hekat::ring {

inline constexpr std::size_t kBlockNumbers = 1024;
inline constexpr unsigned kGaussianBaseBits = 32;
inline constexpr unsigned kMaxDoublings = 40;

// s0^2 = base / 2^32 in [4, 16); thresholds: floor(2^64 C_j), ascending, one of those that are equal enough;
// margin: how near to its threshold of 52 bits a comparison is not decided.
GaussianLaw make_gaussian(Limb base, unsigned doublings, Limb limit, const std::vector<Limb>& thresholds,
                          Limb margin);

// x (count numbers) of the blocks from first_block on; undecided (a byte for each block) is 1 where a
// comparison needs more digits: that block's numbers are then none. Constant time but for which tries are
// refused, and for `undecided`.
void sample_gaussian(ThreadPool& pool, CpuPath path, std::int64_t* x, std::uint8_t* undecided, const Key& key,
                     Limb first_block, std::size_t count, const GaussianLaw& law);

}  // namespace hekat::ring
