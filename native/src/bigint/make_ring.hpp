// The ring that serves a modulus fastest.
#pragma once

#include <memory>

#include "bigint/residue_ring.hpp"
#include "cpu/features.hpp"

namespace hekat {

// Residues mod n: limb_count limbs, odd, above 1. root: root_limbs limbs of the number whose square n is, or
// nullptr where none is known. path: one that can be taken here.
std::unique_ptr<ResidueRing> make_ring(const Limb* n, std::size_t limb_count, const Limb* root,
                                       std::size_t root_limbs, CpuPath path);

}  // namespace hekat
