// Powers by windows over a small table of powers of the base.
#include "bigint/power.hpp"

#include <cstring>

#include "bigint/integer.hpp"

namespace hekat {
namespace {

constexpr unsigned kMaxWindowBits = 6;
constexpr std::size_t kReadsPerProduct = 256;  // table entries read in the time of a product, as measured

}  // namespace

Limb exponent_bits_at(const Limb* exponent, std::size_t limb_count, std::size_t bit, unsigned width) {
    const std::size_t at = bit / kLimbBits;
    if (at >= limb_count) return 0;
    Wide pair = exponent[at];
    if (at + 1 < limb_count) pair |= static_cast<Wide>(exponent[at + 1]) << kLimbBits;
    return low_limb(pair >> (bit % kLimbBits)) & ((Limb{1} << width) - 1);
}

unsigned power_window_bits(std::size_t bits) {
    unsigned best = 1;
    std::size_t best_products = bits + 2;
    for (unsigned window = 2; window <= kMaxWindowBits; ++window) {
        const std::size_t entries = std::size_t{1} << window;
        const std::size_t products = bits / window + entries + bits / window * entries / kReadsPerProduct;
        if (products < best_products) {
            best = window;
            best_products = products;
        }
    }
    return best;
}

std::size_t power_scratch_count(const ResidueRing& modulus, std::size_t exponent_limbs) {
    const unsigned window = power_window_bits(kLimbBits * exponent_limbs);
    return modulus.scratch_count() + ((std::size_t{1} << window) + 2) * modulus.width();
}

void power(const ResidueRing& modulus, Limb* z, const Limb* base, const Limb* exponent,
           std::size_t exponent_limbs, Limb* scratch) {
    const std::size_t width = modulus.width();
    const std::size_t bits = kLimbBits * exponent_limbs;
    const unsigned window = power_window_bits(bits);
    const std::size_t entry_count = std::size_t{1} << window;
    Limb* products = scratch;
    Limb* entry = products + modulus.scratch_count();
    Limb* result = entry + width;
    Limb* table = result + width;
    std::memcpy(table, modulus.one(), width * sizeof(Limb));
    std::memcpy(table + width, base, width * sizeof(Limb));
    for (std::size_t j = 2; j < entry_count; j += 2) {
        modulus.square(table + j * width, table + j / 2 * width, products);
        modulus.multiply(table + (j + 1) * width, table + j * width, base, products);
    }
    const auto select = [&](Limb* to, std::size_t position) {
        const Limb digit = exponent_bits_at(exponent, exponent_limbs, position * window, window);
        modulus.kernels().select_entry(to, table, entry_count, width, digit);
    };
    std::size_t position = (bits + window - 1) / window - 1;
    select(result, position);
    while (position-- > 0) {
        for (unsigned i = 0; i < window; ++i) modulus.square(result, result, products);
        select(entry, position);
        modulus.multiply(result, result, entry, products);
    }
    std::memcpy(z, result, width * sizeof(Limb));
}

void power_vartime(const ResidueRing& modulus, Limb* z, const Limb* base, const Limb* exponent,
                   std::size_t exponent_limbs, Limb* scratch) {
    const std::size_t width = modulus.width();
    const std::size_t bits = bit_length_vartime(exponent, exponent_limbs);
    if (bits == 0) {
        std::memcpy(z, modulus.one(), width * sizeof(Limb));
        return;
    }
    // Only odd powers are needed: half the table, so one bit more of window costs the same.
    const unsigned window = power_window_bits(bits);
    const std::size_t entry_count = std::size_t{1} << (window - 1);
    Limb* products = scratch;
    Limb* result = products + modulus.scratch_count();
    Limb* base_squared = result + width;
    Limb* table = base_squared + width;  // base^1, base^3, base^5, ...
    std::memcpy(table, base, width * sizeof(Limb));
    if (entry_count > 1) modulus.square(base_squared, base, products);
    for (std::size_t j = 1; j < entry_count; ++j) {
        modulus.multiply(table + j * width, table + (j - 1) * width, base_squared, products);
    }
    bool started = false;
    std::size_t bit = bits;  // the bits from here up are done
    while (bit > 0) {
        if (exponent_bits_at(exponent, exponent_limbs, bit - 1, 1) == 0) {
            modulus.square(result, result, products);
            --bit;
            continue;
        }
        // The longest window below `bit` that ends in a one.
        std::size_t low = bit > window ? bit - window : 0;
        while (exponent_bits_at(exponent, exponent_limbs, low, 1) == 0) ++low;
        const auto length = static_cast<unsigned>(bit - low);
        const Limb* entry = table + (exponent_bits_at(exponent, exponent_limbs, low, length) >> 1) * width;
        if (started) {
            for (unsigned i = 0; i < length; ++i) modulus.square(result, result, products);
            modulus.multiply(result, result, entry, products);
        } else {
            std::memcpy(result, entry, width * sizeof(Limb));
            started = true;
        }
        bit = low;
    }
    std::memcpy(z, result, width * sizeof(Limb));
}

}  // namespace hekat
