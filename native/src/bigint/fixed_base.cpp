// Fixed-base tables and powers.
#include "bigint/fixed_base.hpp"

#include <cstring>

#include "bigint/power.hpp"

namespace hekat {

unsigned fixed_base_window_bits(std::size_t limb_count) {
    // In cycles, as measured: a product per limb pair, a table entry per limb read; a table used a thousand
    // times.
    const auto limbs = static_cast<double>(limb_count);
    const double product = 3.2 * limbs * limbs;
    const double read = 0.3 * limbs;
    unsigned best = 4;
    double best_cost = 0;
    for (unsigned window = 4; window <= 7; ++window) {
        const double entries = static_cast<double>(1U << window);
        const double cost = (product + entries * read + entries * product / 1000) / window;
        if (window == 4 || cost < best_cost) {
            best = window;
            best_cost = cost;
        }
    }
    return best;
}

void next_position_base(const ResidueRing& modulus, unsigned window_bits, Limb* z, const Limb* base,
                        Limb* scratch) {
    modulus.square(z, base, scratch);
    for (unsigned i = 1; i < window_bits; ++i) modulus.square(z, z, scratch);
}

void fill_position(const ResidueRing& modulus, const FixedBaseShape& shape, Limb* entries, const Limb* base,
                   Limb* scratch) {
    const std::size_t limbs = modulus.limb_count();
    Limb* power = scratch + modulus.scratch_count();
    modulus.narrow(entries, modulus.one());
    std::memcpy(power, base, modulus.width() * sizeof(Limb));
    for (std::size_t j = 1; j < shape.entry_count(); ++j) {
        modulus.narrow(entries + j * limbs, power);
        modulus.multiply(power, power, base, scratch);
    }
}

std::size_t fixed_base_scratch_count(const ResidueRing& modulus, std::size_t count) {
    return modulus.scratch_count() + (count + 2) * modulus.width();
}

void fixed_base_powers(const ResidueRing& modulus, const FixedBaseShape& shape, Limb* z, const Limb* table,
                       const Limb* exponents, std::size_t exponent_limbs, std::size_t count, Limb* scratch) {
    const std::size_t limbs = modulus.limb_count();
    const std::size_t width = modulus.width();
    Limb* packed = scratch + modulus.scratch_count();
    Limb* entry = packed + width;
    Limb* results = entry + width;
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(results + i * width, modulus.one(), width * sizeof(Limb));
    for (std::size_t position = 0; position < shape.positions(); ++position) {
        const Limb* entries = table + position * shape.entry_count() * limbs;
        for (std::size_t i = 0; i < count; ++i) {
            const Limb digit = exponent_bits_at(exponents + i * exponent_limbs, exponent_limbs,
                                                position * shape.window_bits, shape.window_bits);
            modulus.kernels().select_entry(packed, entries, shape.entry_count(), limbs, digit);
            modulus.widen(entry, packed);
            modulus.multiply(results + i * width, results + i * width, entry, scratch);
        }
    }
    for (std::size_t i = 0; i < count; ++i) modulus.narrow(z + i * limbs, results + i * width);
}

}  // namespace hekat
