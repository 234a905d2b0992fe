// What the transform of a sparse plaintext multiplies by, for one prime.
#pragma once

#include "ring/bin_places.hpp"
#include "ring/prime.hpp"

namespace hekat::ring {

// Path ifma lays out the slots of a row as N / 8 vectors: slot (N / 8) l + v is lane l of vector v. Slice s
// of kBinSlices has the vectors from s N / 64 on, that is, block 8 l + s in lane l after the first six levels
// of a transform. The other paths have one slice, in the order of the slots, and no factors.
inline constexpr std::size_t kBinSlices = 8;
inline constexpr std::size_t kBinRows = 2 * kPlaceParts + 1;
inline constexpr std::size_t kBinParts = kPlaceParts;  // blocks after six levels

struct BinFactors {
    BinFactors(const Prime& prime, CpuPath path);

    // For each slice 2 kBinParts vectors, what part c of a place is in its blocks, and a vector of zeros.
    Table rows;
    // Vectors of slice s from s N / 64 on: the factors of its levels as a tree, node n having 2 n and 2 n + 1
    // below it; the root is 1.
    Factors nodes;
};

}  // namespace hekat::ring
