// What the transform of a sparse plaintext multiplies by, for one prime.
#pragma once

#include "ring/prime.hpp"

namespace hekat::ring {

// Path ifma lays out the slots of a row as N / 8 vectors: slot (N / 8) l + v is lane l of vector v. Slice s
// of kBinSlices has the vectors from s N / 64 on, that is, block 8 l + s in lane l after the first six levels
// of a transform. The other paths have one slice, in the order of the slots, and no factors.
inline constexpr std::size_t kBinSlices = 8;
inline constexpr std::size_t kBinParts = 64;  // blocks after six levels

struct BinFactors {
    BinFactors(const Prime& prime, CpuPath path);

    // Vector s 2 kBinParts + c: what the place (c N / 64, see Places) is in the blocks of slice s.
    Table rows;
    // Vectors of slice s from s N / 64 on: the factors of its levels as a tree, node n having 2 n and 2 n + 1
    // below it; the root is 1.
    Factors nodes;
};

}  // namespace hekat::ring
