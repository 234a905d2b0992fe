// Inverses of a batch of residues.
#pragma once

#include <optional>

#include "batch/residues.hpp"

namespace hekat {

// z_i = 1 / x_i, rows, in slices whose running products take at most scratch_bytes, or of one residue; with
// one true inversion for each slice. Returns the first index that has none, z then without meaning.
std::optional<std::size_t> invert_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                                           std::size_t count, std::size_t scratch_bytes);

}  // namespace hekat
