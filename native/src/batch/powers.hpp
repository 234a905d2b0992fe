// Batches of powers: one base per exponent, one base for all from a table, many bases to one product.
#pragma once

#include <cstdint>
#include <optional>

#include "batch/residues.hpp"
#include "bigint/fixed_base.hpp"

namespace hekat {

// z_i = bases_i ^ exponents_i. Residues in Montgomery form, exponents of exponents.limbs limbs. Constant time
// unless `vartime`. Scratch is wiped.
void raise_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Items& bases,
                    const Items& exponents, std::size_t count, bool vartime);

// table = positions() * entry_count() entries of limb_count() limbs, from one canonical base below the
// modulus.
void build_fixed_base_table(ThreadPool& pool, const ResidueRing& modulus, const FixedBaseShape& shape,
                            Limb* table, const Limb* base);

// z_i = base ^ exponents_i. Returns the first index whose exponent has more than exponent_bits bits, z then
// without meaning. Constant time. Scratch is wiped.
std::optional<std::size_t> raise_fixed_base(ThreadPool& pool, const ResidueRing& modulus,
                                            const FixedBaseShape& shape, Limb* z, const Limb* table,
                                            const Limb* exponents, std::size_t exponent_limbs,
                                            std::size_t count);

// z_j = the product over i of bases_i ^ (+-exponents_ij), for i < base_count and j < result_count; negative
// marks the minus signs (nullptr: none). Returns the first base that has a minus sign and no inverse, z then
// without meaning. Variable time.
std::optional<std::size_t> multiply_powers(ThreadPool& pool, const ResidueRing& modulus, Limb* z,
                                           const Limb* bases, const Limb* exponents,
                                           std::size_t exponent_limbs, const bool* negative,
                                           std::size_t base_count, std::size_t result_count);

}  // namespace hekat
