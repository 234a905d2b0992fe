// Digits of many exponents, and their products by tables or by buckets.
#include "bigint/multi_power.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/power.hpp"

namespace hekat {
namespace {

// Calls visit(sequence index, base index, digit) for every digit that is not zero: term by term, over all
// sequences.
template <typename Visit>
void visit_digits(const PowerTerms& terms, const PowerDigits& digits,
                  const std::vector<PowerSequence>& sequences, Checkpoint checkpoint, const Visit& visit) {
    std::size_t longest = 0;
    for (const PowerSequence& sequence : sequences)
        longest = std::max(longest, sequence.last - sequence.first);
    for (std::size_t step = 0; step < longest; ++step) {
        checkpoint();
        for (std::size_t s = 0; s < sequences.size(); ++s) {
            const PowerSequence& sequence = sequences[s];
            const std::size_t i = sequence.first + step;
            if (i >= sequence.last) continue;
            const std::size_t term = terms.term(sequence.result, i);
            const std::size_t base = terms.base(term, i);
            if (base >= terms.base_count) continue;
            const std::int64_t digit = digits.at(term, sequence.position);
            if (digit == 0) continue;
            visit(s, base, terms.is_negative(term) ? -digit : digit);
        }
    }
}

std::size_t magnitude(std::int64_t digit) { return static_cast<std::size_t>(digit < 0 ? -digit : digit); }

std::vector<RunningProduct> running_products(Limb* rows, std::size_t row_limbs, std::size_t count) {
    std::vector<RunningProduct> products;
    products.reserve(count);
    for (std::size_t i = 0; i < count; ++i) products.emplace_back(rows + i * row_limbs);
    return products;
}

}  // namespace

std::int64_t PowerDigits::at(std::size_t term, std::size_t position) const {
    const Limb* exponent = exponents_ + term * exponent_limbs_;
    const auto window = [&](std::size_t i) {
        return static_cast<std::int64_t>(
            exponent_bits_at(exponent, exponent_limbs_, i * method_.window_bits, method_.window_bits));
    };
    std::int64_t digit = window(position);
    if (!method_.is_signed) return digit;
    // A window above half is a negative digit and carries one up; one at half carries where the one below it
    // does.
    const std::int64_t half = std::int64_t{1} << (method_.window_bits - 1);
    while (position-- > 0) {
        const std::int64_t below = window(position);
        if (below == half) continue;
        if (below > half) ++digit;
        break;
    }
    return digit > half ? digit - 2 * half : digit;
}

std::size_t max_exponent_bits(const PowerTerms& terms) {
    std::size_t bits = 0;
    for (std::size_t k = 0; k < terms.term_count(); ++k) {
        const Limb* exponent = terms.exponents + k * terms.exponent_limbs;
        bits = std::max(bits, bit_length_vartime(exponent, terms.exponent_limbs));
    }
    return bits;
}

void fill_power_tables(ProductQueue& queue, const PowerMethod& method, Limb* tables, const Limb* bases,
                       std::size_t count) {
    const std::size_t row = queue.ring().row_limbs();
    for (std::size_t j = 0; j < method.table_rows(); ++j) {
        for (std::size_t i = 0; i < count; ++i) {
            Limb* power = tables + (i * method.table_rows() + j) * row;
            const Limb* base = bases + i * row;
            queue.multiply(power, j == 0 ? base : power - row, base);
        }
    }
    queue.flush();
}

std::size_t digits_memory_rows(const PowerMethod& method, std::size_t count) {
    return count * (method.by_tables ? 1 : method.max_digit() + 2);
}

void multiply_digits(ProductQueue& queue, const PowerMethod& method, const PowerTerms& terms,
                     const PowerDigits& digits, const PowerRows& rows,
                     const std::vector<PowerSequence>& sequences, Limb* products, bool* is_empty,
                     Limb* memory, Checkpoint checkpoint) {
    const std::size_t row = queue.ring().row_limbs();
    const std::size_t count = sequences.size();
    std::vector<RunningProduct> totals = running_products(memory, row, count);
    if (method.by_tables) {
        visit_digits(
            terms, digits, sequences, checkpoint, [&](std::size_t s, std::size_t base, std::int64_t digit) {
                const Limb* first = digit < 0 ? rows.inverses : rows.bases;
                const Limb* further = digit < 0 ? rows.inverse_tables : rows.tables;
                const std::size_t power = magnitude(digit);
                totals[s].multiply(queue, power == 1
                                              ? first + base * row
                                              : further + (base * method.table_rows() + power - 2) * row);
            });
    } else {
        std::vector<RunningProduct> suffixes = running_products(memory + count * row, row, count);
        std::vector<RunningProduct> buckets =
            running_products(memory + 2 * count * row, row, count * method.max_digit());
        visit_digits(terms, digits, sequences, checkpoint,
                     [&](std::size_t s, std::size_t base, std::int64_t digit) {
                         buckets[s * method.max_digit() + magnitude(digit) - 1].multiply(
                             queue, (digit < 0 ? rows.inverses : rows.bases) + base * row);
                     });
        // The product of bucket_d^d: each product of the buckets from d up is multiplied in once.
        for (std::size_t d = method.max_digit(); d-- > 0;) {
            checkpoint();
            for (std::size_t s = 0; s < count; ++s) {
                const Limb* bucket = buckets[s * method.max_digit() + d].value();
                if (bucket != nullptr) suffixes[s].multiply(queue, bucket);
            }
            for (std::size_t s = 0; s < count; ++s) {
                if (suffixes[s].value() != nullptr) totals[s].multiply(queue, suffixes[s].value());
            }
        }
    }
    queue.flush();
    for (std::size_t s = 0; s < count; ++s) {
        is_empty[s] = totals[s].value() == nullptr;
        if (!is_empty[s]) std::memcpy(products + s * row, totals[s].value(), row * sizeof(Limb));
    }
}

}  // namespace hekat
