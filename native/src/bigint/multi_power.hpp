// Products of many powers: by tables per base (Straus) or by buckets per digit (Pippenger), for many results
// at once.
#pragma once

#include <cstdint>
#include <vector>

#include "bigint/checkpoint.hpp"
#include "bigint/product_queue.hpp"

namespace hekat {

// Result j is the product over its terms of base^(+-exponent). Terms have numbers: term k has exponent k,
// sign k. Dense: every result takes every base; base i in result j is term i * result_count + j. Sparse,
// where offsets are given: result j has the terms offsets[j] <= k < offsets[j + 1], and term k has base
// columns[k].
struct PowerTerms {
    const Limb* bases;      // base_count rows
    const Limb* exponents;  // exponent k at exponents + k * exponent_limbs
    std::size_t exponent_limbs;
    const bool* negative;         // sign k; nullptr: none
    const std::int64_t* columns;  // nullptr: dense
    const std::int64_t* offsets;  // result_count + 1 of them; nullptr: dense
    std::size_t base_count;
    std::size_t result_count;
    // Sparse: columns count from here, and terms of columns outside of the base_count ones are left out.
    std::size_t first_base = 0;

    bool is_dense() const { return offsets == nullptr; }
    std::size_t term_count() const {
        return is_dense() ? base_count * result_count : static_cast<std::size_t>(offsets[result_count]);
    }
    std::size_t term_count(std::size_t result) const {
        return is_dense() ? base_count : static_cast<std::size_t>(offsets[result + 1] - offsets[result]);
    }
    // The number of result's i-th term, and the base of its i-th term: base_count or above where it is left
    // out.
    std::size_t term(std::size_t result, std::size_t i) const {
        return is_dense() ? i * result_count + result : static_cast<std::size_t>(offsets[result]) + i;
    }
    std::size_t base(std::size_t term, std::size_t i) const {
        return is_dense() ? i : static_cast<std::size_t>(columns[term]) - first_base;
    }
    bool is_negative(std::size_t term) const { return negative != nullptr && negative[term]; }
};

// How exponents are cut into digits of window_bits, and what is done with them. Signed digits lie in
// (-2^(window_bits - 1), 2^(window_bits - 1)] and need the inverse of every base.
struct PowerMethod {
    bool by_tables;
    bool is_signed;
    unsigned window_bits;

    std::size_t positions(std::size_t bits) const {
        return bits == 0 ? 0 : (bits + (is_signed ? 1 : 0) + window_bits - 1) / window_bits;
    }
    std::size_t max_digit() const {
        return is_signed ? std::size_t{1} << (window_bits - 1) : (std::size_t{1} << window_bits) - 1;
    }
    // Rows of one base's powers from the second on, as `fill_power_table` writes them.
    std::size_t table_rows() const { return max_digit() - 1; }
};

// The digits of all exponents, read where the exponents lie.
class PowerDigits {
  public:
    PowerDigits(const PowerTerms& terms, const PowerMethod& method)
        : method_(method), exponents_(terms.exponents), exponent_limbs_(terms.exponent_limbs) {}

    std::int64_t at(std::size_t term, std::size_t position) const;

  private:
    PowerMethod method_;
    const Limb* exponents_;
    std::size_t exponent_limbs_;
};

// What digits choose from: rows of the bases and their inverses, and their tables where the method is by
// tables.
struct PowerRows {
    const Limb* bases;
    const Limb* inverses;  // read only where a digit is negative
    const Limb* tables;    // base i's from tables + i * table_rows() rows on
    const Limb* inverse_tables;
};

// One position's digits of some of a result's terms: the product of base^digit over terms first <= i < last.
struct PowerSequence {
    std::size_t result;
    std::size_t position;
    std::size_t first;
    std::size_t last;
};

// The most bits any exponent of the terms has. Variable time.
std::size_t max_exponent_bits(const PowerTerms& terms);

// table row j = base^(j + 2) for j < table_rows(), for each of count bases; tables one after another.
void fill_power_tables(ProductQueue& queue, const PowerMethod& method, Limb* tables, const Limb* bases,
                       std::size_t count);

// The rows of memory that `multiply_digits` needs for count sequences.
std::size_t digits_memory_rows(const PowerMethod& method, std::size_t count);

// products[s] = the product of sequences[s], or is_empty[s] where all of its digits are zero; rows one after
// another. Goes over all sequences before any one's next term. Variable time. Source: Straus, Addition chains
// of vectors (1964); Pippenger, On the evaluation of powers and related problems (1976).
void multiply_digits(ProductQueue& queue, const PowerMethod& method, const PowerTerms& terms,
                     const PowerDigits& digits, const PowerRows& rows,
                     const std::vector<PowerSequence>& sequences, Limb* products, bool* is_empty,
                     Limb* memory, Checkpoint checkpoint);

}  // namespace hekat
