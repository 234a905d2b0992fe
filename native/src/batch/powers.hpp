// Batches of powers: one base per exponent, one base for all from a table, many bases to one product.
#pragma once

#include <cstdint>
#include <optional>

#include "batch/residues.hpp"
#include "bigint/fixed_base.hpp"
#include "bigint/multi_power.hpp"

namespace hekat {

// z_i = bases_i ^ exponents_i, rows; exponents of exponents.limbs limbs. Constant time unless `vartime`.
// Scratch is wiped.
void raise_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Items& bases,
                    const Items& exponents, std::size_t count, bool vartime);

// table = shape.table_words(ring) words, from one canonical base below the modulus. False where the table is
// to be factored and the base has no inverse: the table is then without meaning.
bool build_fixed_base_table(ThreadPool& pool, const ResidueRing& ring, const FixedBaseShape& shape,
                            Limb* table, const Limb* base);

// z_i = base ^ exponents_i, rows. Returns the first index whose exponent has more than exponent_bits bits, z
// then without meaning. Constant time if the table is. Scratch is wiped.
std::optional<std::size_t> raise_fixed_base(ThreadPool& pool, const ResidueRing& ring,
                                            const FixedBaseShape& shape, Limb* z, const Limb* table,
                                            const Limb* exponents, std::size_t exponent_limbs,
                                            std::size_t count);

// z_j = the product of result j's terms, rows. Returns the first base that has a minus sign somewhere and no
// inverse, z then without meaning. Variable time. Scratch that grows with the input stays within
// scratch_bytes, but is at least what one base and one result at a time need.
std::optional<std::size_t> multiply_powers(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                           const PowerTerms& terms, std::size_t scratch_bytes);

// The same by a given method instead of the cheapest, for tests; signed digits need every base to have an
// inverse.
std::optional<std::size_t> multiply_powers_by(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                              const PowerTerms& terms, std::size_t scratch_bytes,
                                              const PowerMethod& method);

}  // namespace hekat
