// Powers by windows over a small table of powers of the base.
#include "bigint/power.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {
namespace {

constexpr unsigned kMaxWindowBits = 6;
constexpr std::size_t kCheckpointSquarings = 16;

// The widest window for exponents of so many limbs: what scratch is sized for.
unsigned widest_window_bits(std::size_t exponent_limbs) {
    return power_window_bits(kLimbBits * exponent_limbs, 0);
}

// The window for exponents of `bits` bits in so many limbs: one that scratch has room for.
unsigned window_bits_for(std::size_t bits, std::size_t exponent_limbs, double entry_products) {
    return std::min(power_window_bits(bits, entry_products), widest_window_bits(exponent_limbs));
}

// table[j] = base^j for j < entry_count, an even number.
void fill_powers(const ResidueRing& ring, Limb* table, const Limb* base, std::size_t entry_count,
                 Limb* scratch) {
    const std::size_t width = ring.width();
    std::memcpy(table, ring.one(), width * sizeof(Limb));
    std::memcpy(table + width, base, width * sizeof(Limb));
    for (std::size_t j = 2; j < entry_count; j += 2) {
        ring.square(table + j * width, table + j / 2 * width, scratch);
        ring.multiply(table + (j + 1) * width, table + j * width, base, scratch);
    }
}

// Every lane's `width` bits from bit `bit` on; returns them all ORed together.
Limb digits_at(Limb* digits, const Limb* const* exponents, std::size_t lanes, std::size_t exponent_limbs,
               std::size_t bit, unsigned width) {
    Limb seen = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        digits[lane] = exponent_bits_at(exponents[lane], exponent_limbs, bit, width);
        seen |= digits[lane];
    }
    return seen;
}

bool are_equal_vartime(const Limb* const* exponents, std::size_t lanes, std::size_t exponent_limbs) {
    return std::all_of(exponents + 1, exponents + lanes, [&](const Limb* exponent) {
        return exponent == exponents[0] || std::equal(exponent, exponent + exponent_limbs, exponents[0]);
    });
}

// By fixed windows, each lane with digits of its own; leading zeros and digits that are zero in all lanes are
// skipped.
void power_fixed_vartime(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* const* exponents,
                         std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t width = ring.width();
    std::size_t bits = 0;
    for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
        bits = std::max(bits, bit_length_vartime(exponents[lane], exponent_limbs));
    }
    const unsigned window = window_bits_for(bits, exponent_limbs, 0);
    Limb* products = scratch;
    Limb* entry = products + ring.scratch_count();
    Limb* result = entry + width;
    Limb* table = result + width;
    fill_powers(ring, table, base, std::size_t{1} << window, products);
    SecretArray<Limb, kMaxLanes> digits;
    std::size_t position = (bits + window - 1) / window - 1;  // its digits are not all zero
    digits_at(digits.data(), exponents, ring.lanes(), exponent_limbs, position * window, window);
    ring.pick_vartime(result, table, digits.data());
    while (position-- > 0) {
        checkpoint();
        for (unsigned i = 0; i < window; ++i) ring.square(result, result, products);
        const Limb seen =
            digits_at(digits.data(), exponents, ring.lanes(), exponent_limbs, position * window, window);
        if (seen == 0) continue;
        ring.pick_vartime(entry, table, digits.data());
        ring.multiply(result, result, entry, products);
    }
    std::memcpy(z, result, width * sizeof(Limb));
}

// By sliding windows over the one exponent that all lanes have.
void power_sliding_vartime(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* exponent,
                           std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t width = ring.width();
    const std::size_t bits = bit_length_vartime(exponent, exponent_limbs);
    if (bits == 0) {
        std::memcpy(z, ring.one(), width * sizeof(Limb));
        return;
    }
    // Only odd powers are needed: half the table, so one bit more of window costs the same.
    const unsigned window = window_bits_for(bits, exponent_limbs, 0);
    const std::size_t entry_count = std::size_t{1} << (window - 1);
    Limb* products = scratch;
    Limb* result = products + ring.scratch_count();
    Limb* base_squared = result + width;
    Limb* table = base_squared + width;  // base^1, base^3, base^5, ...
    std::memcpy(table, base, width * sizeof(Limb));
    if (entry_count > 1) ring.square(base_squared, base, products);
    for (std::size_t j = 1; j < entry_count; ++j) {
        ring.multiply(table + j * width, table + (j - 1) * width, base_squared, products);
    }
    bool started = false;
    std::size_t bit = bits;  // the bits from here up are done
    while (bit > 0) {
        if (exponent_bits_at(exponent, exponent_limbs, bit - 1, 1) == 0) {
            if (bit % kCheckpointSquarings == 0) checkpoint();
            ring.square(result, result, products);
            --bit;
            continue;
        }
        checkpoint();
        // The longest window below `bit` that ends in a one.
        std::size_t low = bit > window ? bit - window : 0;
        while (exponent_bits_at(exponent, exponent_limbs, low, 1) == 0) ++low;
        const auto length = static_cast<unsigned>(bit - low);
        const Limb* entry = table + (exponent_bits_at(exponent, exponent_limbs, low, length) >> 1) * width;
        if (started) {
            for (unsigned i = 0; i < length; ++i) ring.square(result, result, products);
            ring.multiply(result, result, entry, products);
        } else {
            std::memcpy(result, entry, width * sizeof(Limb));
            started = true;
        }
        bit = low;
    }
    std::memcpy(z, result, width * sizeof(Limb));
}

}  // namespace

Limb exponent_bits_at(const Limb* exponent, std::size_t limb_count, std::size_t bit, unsigned width) {
    const std::size_t at = bit / kLimbBits;
    if (at >= limb_count) return 0;
    Wide pair = exponent[at];
    if (at + 1 < limb_count) pair |= static_cast<Wide>(exponent[at + 1]) << kLimbBits;
    return low_limb(pair >> (bit % kLimbBits)) & ((Limb{1} << width) - 1);
}

unsigned power_window_bits(std::size_t bits, double entry_products) {
    unsigned best = 1;
    double best_products = 0;
    for (unsigned window = 1; window <= kMaxWindowBits; ++window) {
        const auto entries = static_cast<double>(1U << window);
        // The positions are not rounded: of two windows, the one with the larger table gains with every bit.
        const double positions = static_cast<double>(bits) / window;
        const double products = positions * (1 + entries * entry_products) + entries;
        if (window == 1 || products < best_products) {
            best = window;
            best_products = products;
        }
    }
    return best;
}

std::size_t power_scratch_count(const ResidueRing& ring, std::size_t exponent_limbs) {
    return ring.scratch_count() + ((std::size_t{1} << widest_window_bits(exponent_limbs)) + 2) * ring.width();
}

void power(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* const* exponents,
           std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t width = ring.width();
    const std::size_t bits = kLimbBits * exponent_limbs;
    const unsigned window = window_bits_for(bits, exponent_limbs, ring.own_entry_ns() / ring.product_ns());
    const std::size_t entry_count = std::size_t{1} << window;
    Limb* products = scratch;
    Limb* entry = products + ring.scratch_count();
    Limb* result = entry + width;
    Limb* table = result + width;
    fill_powers(ring, table, base, entry_count, products);
    const auto select = [&](Limb* to, std::size_t position) {
        SecretArray<Limb, kMaxLanes> digits;
        digits_at(digits.data(), exponents, ring.lanes(), exponent_limbs, position * window, window);
        ring.select(to, table, entry_count, digits.data());
    };
    std::size_t position = (bits + window - 1) / window - 1;
    select(result, position);
    while (position-- > 0) {
        checkpoint();
        for (unsigned i = 0; i < window; ++i) ring.square(result, result, products);
        select(entry, position);
        ring.multiply(result, result, entry, products);
    }
    std::memcpy(z, result, width * sizeof(Limb));
}

void power_vartime(const ResidueRing& ring, Limb* z, const Limb* base, const Limb* const* exponents,
                   std::size_t exponent_limbs, Limb* scratch, Checkpoint checkpoint) {
    if (are_equal_vartime(exponents, ring.lanes(), exponent_limbs)) {
        power_sliding_vartime(ring, z, base, exponents[0], exponent_limbs, scratch, checkpoint);
    } else {
        power_fixed_vartime(ring, z, base, exponents, exponent_limbs, scratch, checkpoint);
    }
}

}  // namespace hekat
