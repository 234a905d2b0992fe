// The innermost products: eight limbs by eight limbs ("a tile"), in x86-64 instructions or portable C++.
#pragma once

#include "bigint/limb.hpp"
#include "cpu/features.hpp"

namespace hekat {

inline constexpr std::size_t kTileLimbs = 8;

// Tiles that hold limb_count limbs.
inline constexpr std::size_t tiles_for(std::size_t limb_count) {
    return (limb_count + kTileLimbs - 1) / kTileLimbs;
}

// One implementation of the routines below; every one has the same contracts and gives the same limbs.
struct TileKernels {
    const char* name;

    // z (8 * tiles limbs) and w (8 limbs) become z', w' with z' + w' B^tiles = z + w + a * b, B = 2^512,
    // for a of 8 limbs and b of 8 * tiles limbs. Never overflows: (B-1) + (B^t-1) + (B-1)(B^t-1) < B^(t+1).
    void (*multiply_row)(Limb* z, Limb* w, const Limb* a, const Limb* b, std::size_t tiles);

    // m = z * (-n^-1) mod B and w = (z + m * n) / B < B, for z and odd n of 8 limbs; n_inverse = -n^-1 mod
    // 2^64.
    void (*reduce_tile)(Limb* m, Limb* w, const Limb* z, const Limb* n, Limb n_inverse);

    // z (16 limbs) = the sum over i < j < 8 of a_i a_j 2^(64 (i + j)), for a of 8 limbs.
    void (*multiply_triangle)(Limb* z, const Limb* a);

    // z (16 * tiles limbs) = 2 z + the sum over i of a_i^2 2^(128 i), for a of 8 * tiles limbs; fits by
    // contract.
    void (*double_and_add_squares)(Limb* z, const Limb* a, std::size_t tiles);

    // z = a + b + carry, 8 * tiles limbs each, carry in {0, 1}; returns the carry out. z may be a or b.
    Limb (*add)(Limb* z, const Limb* a, const Limb* b, Limb carry, std::size_t tiles);

    // z = a - b mod B^tiles, 8 * tiles limbs each; returns the borrow out. z may be a or b.
    Limb (*subtract)(Limb* z, const Limb* a, const Limb* b, std::size_t tiles);

    // z (limb_count limbs) = entries[index], every one of entry_count entries being read: no trace of index <
    // entry_count.
    void (*select_entry)(Limb* z, const Limb* entries, std::size_t entry_count, std::size_t limb_count,
                         Limb index);
};

// Plain C++, runs anywhere.
const TileKernels& portable_tile_kernels();

// mulx, adcx, adox, AVX2; nullptr where this build has them not.
const TileKernels* x86_tile_kernels();

// What the path's products of single residues are made of; only for a path that can be taken here.
const TileKernels& tile_kernels(CpuPath path);

}  // namespace hekat
