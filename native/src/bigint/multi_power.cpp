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
            const std::int64_t digit = digits.at(term, sequence.position);
            if (digit == 0) continue;
            visit(s, terms.base(term, i), terms.is_negative(term) ? -digit : digit);
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

PowerDigits::PowerDigits(const PowerTerms& terms, const PowerMethod& method, std::size_t bits)
    : window_bits_(method.window_bits), exponents_(terms.exponents), exponent_limbs_(terms.exponent_limbs) {
    if (!method.is_signed) return;
    // Every digit is 2^(window_bits - 1) - 1 too large once this number is added: carries come by themselves.
    bias_ = (Limb{1} << (window_bits_ - 1)) - 1;
    const std::size_t all_bits = method.positions(bits) * window_bits_;
    const std::size_t limbs = std::max<std::size_t>(1, (all_bits + kLimbBits - 1) / kLimbBits);
    std::vector<Limb> bias(limbs, 0);
    for (std::size_t bit = 0; bit < all_bits; bit += window_bits_) {
        const std::size_t at = bit / kLimbBits;
        const Wide shifted = static_cast<Wide>(bias_) << (bit % kLimbBits);
        bias[at] |= low_limb(shifted);
        if (at + 1 < limbs) bias[at + 1] |= high_limb(shifted);
    }
    const std::size_t count = terms.term_count();
    const std::size_t kept = std::min(limbs, exponent_limbs_);  // any limb above is zero
    biased_ = std::make_unique<SecretBuffer>(count * limbs);
    for (std::size_t k = 0; k < count; ++k) {
        Limb* z = biased_->data() + k * limbs;
        std::memcpy(z, exponents_ + k * exponent_limbs_, kept * sizeof(Limb));
        add_limbs(z, z, bias.data(), limbs);
    }
    exponents_ = biased_->data();
    exponent_limbs_ = limbs;
}

std::int64_t PowerDigits::at(std::size_t term, std::size_t position) const {
    const Limb digit = exponent_bits_at(exponents_ + term * exponent_limbs_, exponent_limbs_,
                                        position * window_bits_, window_bits_);
    return static_cast<std::int64_t>(digit) - static_cast<std::int64_t>(bias_);
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
