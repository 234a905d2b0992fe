// Inverses of a batch of residues.
#pragma once

#include <optional>

#include "batch/residues.hpp"

namespace hekat {

// z_i = 1 / x_i, rows, with one true inversion for all. Returns the first index that has none, z then without
// meaning.
std::optional<std::size_t> invert_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                                           std::size_t count);

}  // namespace hekat
