// Batches of powers of one base each.
#include "batch/powers.hpp"

#include <algorithm>

#include "bigint/power.hpp"
#include "bigint/reveal.hpp"

namespace hekat {
namespace {

// Groups that share one reading of a table's position: enough that its entries come from cache, few enough
// that the results stay there too. As measured.
constexpr std::size_t kGroupsTogether = 16;

bool fits(const Limb* exponent, std::size_t limb_count, std::size_t bits) {
    Limb above = 0;
    for (std::size_t i = bits / kLimbBits; i < limb_count; ++i) {
        const bool is_partial = i == bits / kLimbBits;
        above |= is_partial ? exponent[i] >> (bits % kLimbBits) : exponent[i];
    }
    return reveal(above == 0);
}

// As many exponents as keep every thread busy, in whole groups.
std::size_t exponents_together(const ThreadPool& pool, const ResidueRing& ring, std::size_t count) {
    const std::size_t groups = (count + ring.lanes() - 1) / ring.lanes();
    const std::size_t share = (groups + pool.thread_count() - 1) / pool.thread_count();
    return std::clamp<std::size_t>(share, 1, kGroupsTogether) * ring.lanes();
}

}  // namespace

void raise_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Items& bases,
                    const Items& exponents, std::size_t count, bool vartime) {
    const double products = 1.2 * static_cast<double>(kLimbBits * exponents.limbs);
    const auto raise = vartime ? power_vartime : power;
    const std::size_t memory_words = ring.width() + power_scratch_count(ring, exponents.limbs);
    for_groups(pool, ring, count, products * ring.product_ns(), memory_words,
               [&](const Group& group, Limb* memory) {
                   Limb* x = memory;
                   ring.gather(x, group.reads(bases).data());
                   raise(ring, x, x, group.reads(exponents).data(), exponents.limbs, memory + ring.width(),
                         ThreadPool::checkpoint);
                   ring.scatter(group.writes(z, ring.row_limbs()).data(), x);
               });
}

bool build_fixed_base_table(ThreadPool& pool, const ResidueRing& ring, const FixedBaseShape& shape,
                            Limb* table, const Limb* base) {
    count_entered(1);
    const std::size_t row = ring.row_limbs();
    const std::size_t lanes = ring.lanes();
    SecretBuffer bases(shape.positions() * row);
    SecretBuffer inverses(shape.factored ? shape.positions() * row : row);
    SecretBuffer memory(ring.scratch_count() + ring.width());
    Limb* power = memory.data() + ring.scratch_count();
    ring.enter(power, reads_of(base, 0, 1, lanes).data(), ring.limb_count(), memory.data());
    // Lane 0 holds the bases, the last one their inverses: a ring that has factors has several lanes.
    WritePointers to{};
    to[0] = bases.data();
    ring.scatter(to.data(), power);
    if (shape.factored) {
        if (!reveal(ring.invert(inverses.data(), bases.data()))) return false;
        ReadPointers both = reads_of(bases.data(), 0, 1, lanes);
        both[lanes - 1] = inverses.data();
        ring.gather(power, both.data());
    }
    // One after another, in slices short enough for an interrupt to be heard.
    const double step_ns = static_cast<double>(shape.window_bits * lanes) * ring.product_ns();
    ThreadPool::Body chain = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (unsigned bit = 0; bit < shape.window_bits; ++bit) ring.square(power, power, memory.data());
            to[0] = bases.data() + (i + 1) * row;
            if (shape.factored) to[lanes - 1] = inverses.data() + (i + 1) * row;
            ring.scatter(to.data(), power);
        }
    };
    pool.run_in_order(shape.positions() - 1, step_ns, chain);
    const double position_ns =
        static_cast<double>(shape.entry_count()) * fixed_base_entry_products(ring) * ring.product_ns();
    for_groups(pool, ring, shape.positions(), position_ns, fill_positions_scratch_count(ring),
               [&](const Group& group, Limb* scratch) {
                   fill_positions(ring, shape, table, group.first, bases.data() + group.first * row,
                                  inverses.data() + (shape.factored ? group.first * row : 0), scratch,
                                  ThreadPool::checkpoint);
               });
    return true;
}

std::optional<std::size_t> raise_fixed_base(ThreadPool& pool, const ResidueRing& ring,
                                            const FixedBaseShape& shape, Limb* z, const Limb* table,
                                            const Limb* exponents, std::size_t exponent_limbs,
                                            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!fits(exponents + i * exponent_limbs, exponent_limbs, shape.exponent_bits)) return i;
    }
    const auto powers = shape.constant_time ? fixed_base_powers : fixed_base_powers_vartime;
    const std::size_t together = exponents_together(pool, ring, count);
    const double part_ns = static_cast<double>(together * shape.positions()) * ring.product_ns();
    const std::size_t scratch_words = fixed_base_scratch_count(ring, together);
    pool.run((count + together - 1) / together, part_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer scratch(scratch_words);
        for (std::size_t first = begin * together; first < std::min(count, end * together);
             first += together) {
            powers(ring, shape, z + first * ring.row_limbs(), table, exponents + first * exponent_limbs,
                   exponent_limbs, std::min(together, count - first), scratch.data(), ThreadPool::checkpoint);
        }
    });
    return std::nullopt;
}

}  // namespace hekat
