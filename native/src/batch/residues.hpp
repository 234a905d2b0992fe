// Batches of residues: in, out, products.
#pragma once

#include <cstdint>
#include <optional>

#include "batch/groups.hpp"

namespace hekat {

// In all of these rows have ring.row_limbs() words, values ring.limb_count() limbs unless said otherwise.

// z (count rows) = count canonical values of value_limbs <= limb_count() limbs. Returns the first index whose
// value is not below the modulus, and then z is without meaning.
std::optional<std::size_t> load_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                         const Limb* values, std::size_t value_limbs, std::size_t count);

// z (count rows) = any values of value_limbs <= 2 * limb_count() limbs, reduced. Constant time.
void reduce_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* values,
                     std::size_t value_limbs, std::size_t count);

// z = canonical values of the rows x.
void store_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x, std::size_t count);

// How many values this process has taken into a ring's form and out of it again, in all batches so far.
struct ConversionCounts {
    std::uint64_t entered;
    std::uint64_t left;
};
ConversionCounts conversion_counts();
void count_entered(std::size_t count);

// z_i = a_i (1 + m_i root) modulo the square of `root`. m: values below the root, of as many limbs at most.
// Returns the first index whose m is not below it, z then without meaning.
std::optional<std::size_t> multiply_by_one_plus(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                                const Items& a, const Items& m, const Limb* root,
                                                std::size_t root_limbs, std::size_t count);

// z_i = a_i b_i, rows.
void multiply_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Items& a, const Items& b,
                       std::size_t count);

// z_l = the product of x[members[i]] over offsets[l] <= i < offsets[l + 1], rows, for line_count lines; 1 for
// an empty line.
void multiply_lines(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                    const std::int64_t* members, const std::int64_t* offsets, std::size_t line_count);

}  // namespace hekat
