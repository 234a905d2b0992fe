// Batches of residues in Montgomery form: in, out, products.
#pragma once

#include <cstdint>
#include <optional>

#include "batch/thread_pool.hpp"
#include "bigint/residue_ring.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {

// Items of one size one after another; a single one where it stands for a whole batch.
struct Items {
    const Limb* data;
    std::size_t limbs;  // of one item
    bool is_one;        // the same item for every index

    const Limb* at(std::size_t i) const { return data + (is_one ? 0 : i * limbs); }
};

// What one modular product costs here, for sizing chunks.
double product_ns(const ResidueRing& modulus);

// In all of these z is count items of modulus.limb_count() limbs, in Montgomery form unless said otherwise.

// Takes count canonical values of value_limbs <= limb_count() limbs in. Returns the first index whose value
// is not below the modulus, and then z is without meaning.
std::optional<std::size_t> load_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z,
                                         const Limb* values, std::size_t value_limbs, std::size_t count);

// Takes any values of value_limbs <= 2 * limb_count() limbs in, reduced. Constant time.
void reduce_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* values,
                     std::size_t value_limbs, std::size_t count);

// z = canonical values of the residues x.
void store_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* x, std::size_t count);

// z_i = a_i b_i.
void multiply_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Items& a, const Items& b,
                       std::size_t count);

// z_l = the product of x[members[i]] over offsets[l] <= i < offsets[l + 1], for line_count lines; 1 for an
// empty line.
void multiply_lines(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* x,
                    const std::int64_t* members, const std::int64_t* offsets, std::size_t line_count);

}  // namespace hekat
