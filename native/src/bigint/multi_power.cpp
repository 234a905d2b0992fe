// Products of many powers with shared squarings.
#include "bigint/multi_power.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bigint/integer.hpp"
#include "bigint/power.hpp"

namespace hekat {
namespace {

constexpr unsigned kMaxStrausBits = 8;
constexpr unsigned kMaxPippengerBits = 12;

// A product that may still be empty: the first factor is copied instead of multiplied.
class RunningProduct {
  public:
    RunningProduct(const ResidueRing& modulus, Limb* value, Limb* scratch)
        : modulus_(modulus), value_(value), scratch_(scratch) {}

    bool empty() const { return empty_; }
    const Limb* value() const { return value_; }

    void square() {
        if (!empty_) modulus_.square(value_, value_, scratch_);
    }

    void multiply(const Limb* factor) {
        if (empty_) {
            std::memcpy(value_, factor, modulus_.width() * sizeof(Limb));
        } else {
            modulus_.multiply(value_, value_, factor, scratch_);
        }
        empty_ = false;
    }

    void store(Limb* z) const {
        std::memcpy(z, empty_ ? modulus_.one() : value_, modulus_.width() * sizeof(Limb));
    }

  private:
    const ResidueRing& modulus_;
    Limb* value_;
    Limb* scratch_;
    bool empty_ = true;
};

std::size_t position_count(std::size_t bits, unsigned window_bits) {
    return (bits + window_bits - 1) / window_bits;
}

}  // namespace

std::size_t max_exponent_bits(const PowerTerms& terms) {
    std::size_t bits = 0;
    for (std::size_t i = 0; i < terms.count; ++i) {
        bits = std::max(bits, bit_length_vartime(terms.exponent(i), terms.exponent_limbs));
    }
    return bits;
}

double straus_products(std::size_t count, std::size_t bits, std::size_t result_count, unsigned window_bits) {
    const double entries = static_cast<double>(1U << window_bits);
    const double made = static_cast<double>(count) * (entries - 2) / static_cast<double>(result_count);
    const double positions = static_cast<double>(position_count(bits, window_bits));
    return made + positions * static_cast<double>(count) * (1 - 1 / entries) + static_cast<double>(bits);
}

double pippenger_products(std::size_t count, std::size_t bits, unsigned window_bits) {
    const double buckets = static_cast<double>(1U << window_bits);
    const double filled = static_cast<double>(count) * (1 - 1 / buckets);
    return static_cast<double>(position_count(bits, window_bits)) * (filled + 2 * buckets) +
           static_cast<double>(bits);
}

unsigned straus_window_bits(std::size_t count, std::size_t bits, std::size_t result_count) {
    unsigned best = 1;
    for (unsigned window = 2; window <= kMaxStrausBits; ++window) {
        if (straus_products(count, bits, result_count, window) <
            straus_products(count, bits, result_count, best)) {
            best = window;
        }
    }
    return best;
}

unsigned pippenger_window_bits(std::size_t count, std::size_t bits) {
    unsigned best = 1;
    for (unsigned window = 2; window <= kMaxPippengerBits; ++window) {
        if (pippenger_products(count, bits, window) < pippenger_products(count, bits, best)) best = window;
    }
    return best;
}

void fill_powers(const ResidueRing& modulus, Limb* table, const Limb* base, unsigned window_bits,
                 Limb* scratch) {
    const std::size_t width = modulus.width();
    std::memcpy(table, modulus.one(), width * sizeof(Limb));
    std::memcpy(table + width, base, width * sizeof(Limb));
    for (std::size_t j = 2; j < std::size_t{1} << window_bits; ++j) {
        modulus.multiply(table + j * width, table + (j - 1) * width, base, scratch);
    }
}

void multiply_powers_straus(const ResidueRing& modulus, Limb* z, const PowerTerms& terms,
                            const PowerTables& tables, std::size_t bits, Limb* scratch,
                            Checkpoint checkpoint) {
    const std::size_t width = modulus.width();
    const unsigned window = tables.window_bits;
    RunningProduct product(modulus, scratch + modulus.scratch_count(), scratch);
    for (std::size_t position = position_count(bits, window); position-- > 0;) {
        checkpoint();
        for (unsigned i = 0; i < window; ++i) product.square();
        for (std::size_t i = 0; i < terms.count; ++i) {
            const Limb digit =
                exponent_bits_at(terms.exponent(i), terms.exponent_limbs, position * window, window);
            if (digit == 0) continue;
            const Limb* powers = terms.is_negative(i) ? tables.inverse_powers : tables.powers;
            product.multiply(powers + ((i << window) + digit) * width);
        }
    }
    product.store(z);
}

void multiply_powers_pippenger(const ResidueRing& modulus, Limb* z, const PowerTerms& terms,
                               unsigned window_bits, std::size_t bits, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t width = modulus.width();
    const std::size_t bucket_count = std::size_t{1} << window_bits;
    Limb* memory = scratch + modulus.scratch_count();
    RunningProduct product(modulus, memory, scratch);
    memory += width;
    Limb* suffix_memory = memory;
    memory += width;
    std::vector<RunningProduct> buckets;
    for (std::size_t position = position_count(bits, window_bits); position-- > 0;) {
        checkpoint();
        for (unsigned i = 0; i < window_bits; ++i) product.square();
        buckets.clear();
        for (std::size_t j = 0; j < bucket_count; ++j)
            buckets.emplace_back(modulus, memory + j * width, scratch);
        for (std::size_t i = 0; i < terms.count; ++i) {
            const Limb digit = exponent_bits_at(terms.exponent(i), terms.exponent_limbs,
                                                position * window_bits, window_bits);
            if (digit == 0) continue;
            buckets[digit].multiply((terms.is_negative(i) ? terms.inverses : terms.bases) + i * width);
        }
        // The product of bucket_j^j: each product of the buckets from j up is multiplied in once.
        RunningProduct suffix(modulus, suffix_memory, scratch);
        for (std::size_t j = bucket_count; j-- > 1;) {
            if (!buckets[j].empty()) suffix.multiply(buckets[j].value());
            if (!suffix.empty()) product.multiply(suffix.value());
        }
    }
    product.store(z);
}

}  // namespace hekat
