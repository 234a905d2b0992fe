// Batches of powers of one base each.
#include "batch/powers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/power.hpp"

namespace hekat {
namespace {

constexpr std::size_t kTogether = 8;  // exponents that share one reading of a table's position

bool fits(const Limb* exponent, std::size_t limb_count, std::size_t bits) {
    Limb above = 0;
    for (std::size_t i = bits / kLimbBits; i < limb_count; ++i) {
        const bool is_partial = i == bits / kLimbBits;
        above |= is_partial ? exponent[i] >> (bits % kLimbBits) : exponent[i];
    }
    return above == 0;
}

}  // namespace

void raise_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Items& bases,
                    const Items& exponents, std::size_t count, bool vartime) {
    const double products = 1.2 * static_cast<double>(kLimbBits * exponents.limbs);
    const std::size_t width = modulus.width();
    const auto raise = vartime ? power_vartime : power;
    pool.run(count, products * product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(width + power_scratch_count(modulus, exponents.limbs));
        Limb* x = memory.data();
        for (std::size_t i = begin; i < end; ++i) {
            modulus.widen(x, bases.at(i));
            raise(modulus, x, x, exponents.at(i), exponents.limbs, x + width);
            modulus.narrow(z + i * modulus.limb_count(), x);
        }
    });
}

void build_fixed_base_table(ThreadPool& pool, const ResidueRing& modulus, const FixedBaseShape& shape,
                            Limb* table, const Limb* base) {
    const std::size_t width = modulus.width();
    SecretBuffer bases(shape.positions() * width);
    SecretBuffer scratch(modulus.scratch_count());
    std::memcpy(bases.data(), base, modulus.limb_count() * sizeof(Limb));
    modulus.enter(bases.data(), bases.data(), scratch.data());
    // One after another, in slices short enough for an interrupt to be heard.
    const double step_ns = static_cast<double>(shape.window_bits) * product_ns(modulus);
    ThreadPool::Body chain = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            next_position_base(modulus, shape.window_bits, bases.data() + (i + 1) * width,
                               bases.data() + i * width, scratch.data());
        }
    };
    pool.run_in_order(shape.positions() - 1, step_ns, chain);
    const double row_ns = static_cast<double>(shape.entry_count()) * product_ns(modulus);
    pool.run(shape.positions(), row_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(modulus.scratch_count() + width);
        for (std::size_t i = begin; i < end; ++i) {
            fill_position(modulus, shape, table + i * shape.entry_count() * modulus.limb_count(),
                          bases.data() + i * width, memory.data());
        }
    });
}

std::optional<std::size_t> raise_fixed_base(ThreadPool& pool, const ResidueRing& modulus,
                                            const FixedBaseShape& shape, Limb* z, const Limb* table,
                                            const Limb* exponents, std::size_t exponent_limbs,
                                            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!fits(exponents + i * exponent_limbs, exponent_limbs, shape.exponent_bits)) return i;
    }
    // As many exponents to a group as keep every thread busy.
    const std::size_t share = (count + pool.thread_count() - 1) / pool.thread_count();
    const std::size_t together = std::clamp<std::size_t>(share, 1, kTogether);
    const std::size_t group_count = (count + together - 1) / together;
    const double group_ns = static_cast<double>(together * shape.positions()) * product_ns(modulus);
    pool.run(group_count, group_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(fixed_base_scratch_count(modulus, together));
        for (std::size_t group = begin; group < end; ++group) {
            const std::size_t first = group * together;
            fixed_base_powers(modulus, shape, z + first * modulus.limb_count(), table,
                              exponents + first * exponent_limbs, exponent_limbs,
                              std::min(together, count - first), memory.data());
        }
    });
    return std::nullopt;
}

}  // namespace hekat
