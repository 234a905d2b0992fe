// Products of many powers, squarings shared: by tables per base (Straus) or by buckets per digit (Pippenger).
#pragma once

#include "bigint/residue_ring.hpp"

namespace hekat {

// The terms of one product: base i (or its inverse) to the exponent i, for i < count.
struct PowerTerms {
    const Limb* bases;      // count x width(), Montgomery form
    const Limb* inverses;   // the same for the inverses; read only where `negative` says so
    const Limb* exponents;  // exponent i at exponents + i * exponent_stride
    std::size_t exponent_limbs;
    std::size_t exponent_stride;  // in limbs
    const bool* negative;         // sign i at negative + i * negative_stride; nullptr: none
    std::size_t negative_stride;
    std::size_t count;

    const Limb* exponent(std::size_t i) const { return exponents + i * exponent_stride; }
    bool is_negative(std::size_t i) const { return negative != nullptr && negative[i * negative_stride]; }
};

// Tables of all powers below 2^window_bits: of base i at tables + (i << window_bits) * width().
struct PowerTables {
    const Limb* powers;
    const Limb* inverse_powers;  // read only where a sign is negative
    unsigned window_bits;
};

// The most bits any exponent of the terms has.
std::size_t max_exponent_bits(const PowerTerms& terms);

// Products that one result costs, for exponents of `bits` bits.
double straus_products(std::size_t count, std::size_t bits, std::size_t result_count, unsigned window_bits);
double pippenger_products(std::size_t count, std::size_t bits, unsigned window_bits);

// The cheapest window by these costs. Straus: in 1..8, Pippenger: in 1..12.
unsigned straus_window_bits(std::size_t count, std::size_t bits, std::size_t result_count);
unsigned pippenger_window_bits(std::size_t count, std::size_t bits);

// table[j] = base^j for j < 2^window_bits, width() limbs each.
void fill_powers(const ResidueRing& modulus, Limb* table, const Limb* base, unsigned window_bits,
                 Limb* scratch);

// Called once for every digit position of a product; may throw, and then ends it.
using Checkpoint = void (*)();

// z = the product of the terms, Montgomery form, width() limbs. Variable time.
// Source: Straus, Addition chains of vectors (1964).
void multiply_powers_straus(const ResidueRing& modulus, Limb* z, const PowerTerms& terms,
                            const PowerTables& tables, std::size_t bits, Limb* scratch,
                            Checkpoint checkpoint);

// The same; scratch: scratch_count() + (2^window_bits + 2) * width() limbs. Variable time.
// Source: Pippenger, On the evaluation of powers and related problems (1976).
void multiply_powers_pippenger(const ResidueRing& modulus, Limb* z, const PowerTerms& terms,
                               unsigned window_bits, std::size_t bits, Limb* scratch, Checkpoint checkpoint);

}  // namespace hekat
