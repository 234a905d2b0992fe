// Fixed-base tables and powers.
#include "bigint/fixed_base.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/group.hpp"
#include "bigint/power.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {
namespace {

constexpr std::size_t kCheckpointEntries = 256;

// The digits of a group's exponents at one position; missing lanes repeat the last exponent.
void digits_at(const ResidueRing& ring, const FixedBaseShape& shape, Limb* digits, const Limb* exponents,
               std::size_t exponent_limbs, std::size_t count, std::size_t position) {
    for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
        digits[lane] = exponent_bits_at(exponents + std::min(lane, count - 1) * exponent_limbs,
                                        exponent_limbs, position * shape.window_bits, shape.window_bits);
    }
}

// One group's powers by rows, the next position's rows being fetched meanwhile.
void group_powers_vartime(const ResidueRing& ring, const FixedBaseShape& shape, Limb* const* z,
                          const Limb* table, const Limb* exponents, std::size_t exponent_limbs,
                          std::size_t count, Limb* scratch, Checkpoint checkpoint) {
    Limb* entry = scratch + ring.scratch_count();
    Limb* result = entry + ring.width();
    SecretArray<Limb, kMaxLanes> digits;
    SecretArray<const Limb*, kMaxLanes> rows;
    SecretArray<const Limb*, kMaxLanes> next;
    const auto look_up = [&](std::size_t position) {
        digits_at(ring, shape, digits.data(), exponents, exponent_limbs, count, position);
        const Limb* entries = table + position * shape.position_words(ring);
        for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
            next.items[lane] = entries + digits.items[lane] * ring.row_limbs();
            prefetch_row(next.items[lane], ring.row_limbs());
        }
    };
    look_up(0);
    for (std::size_t position = 0; position < shape.positions(); ++position) {
        checkpoint();
        rows.items = next.items;
        if (position + 1 < shape.positions()) look_up(position + 1);
        ring.gather(position == 0 ? result : entry, rows.data());
        if (position > 0) ring.multiply(result, result, entry, scratch);
    }
    ring.scatter(z, result);
}

}  // namespace

unsigned fixed_base_window_bits(const ResidueRing& ring) {
    unsigned best = 4;
    double best_cost = 0;
    for (unsigned window = 4; window <= 8; ++window) {
        const double entries = static_cast<double>(1U << window);
        const double cost = (ring.product_ns() + entries * ring.shared_entry_ns()) / window;
        if (window == 4 || cost < best_cost) {
            best = window;
            best_cost = cost;
        }
    }
    return best;
}

void fill_positions(const ResidueRing& ring, const FixedBaseShape& shape, Limb* table,
                    std::size_t first_position, const Limb* bases, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t count = std::min(ring.lanes(), shape.positions() - first_position);
    const std::size_t row = ring.row_limbs();
    const std::size_t position_words = shape.position_words(ring);
    Limb* base = scratch + ring.scratch_count();
    Limb* power = base + ring.width();
    Limb* rows = power + ring.width();
    const WritePointers to = writes_of(rows, row, count, ring.lanes());
    ring.gather(base, reads_of(bases, row, count, ring.lanes()).data());
    std::memcpy(power, ring.one(), ring.width() * sizeof(Limb));
    for (std::size_t j = 0; j < shape.entry_count(); ++j) {
        if (j == 1) std::memcpy(power, base, ring.width() * sizeof(Limb));
        if (j > 1) ring.multiply(power, power, base, scratch);
        if (j % kCheckpointEntries == 0) checkpoint();
        ring.scatter(to.data(), power);
        for (std::size_t i = 0; i < count; ++i) {
            Limb* entries = table + (first_position + i) * position_words;
            if (shape.constant_time) {
                ring.put_shared(entries, shape.entry_count(), j, to[i]);
            } else {
                std::memcpy(entries + j * row, to[i], row * sizeof(Limb));
            }
        }
    }
}

std::size_t fixed_base_scratch_count(const ResidueRing& ring, std::size_t count) {
    const std::size_t groups = (count + ring.lanes() - 1) / ring.lanes();
    return ring.scratch_count() + groups * (2 * ring.width() + kMaxLanes);
}

void fixed_base_powers(const ResidueRing& ring, const FixedBaseShape& shape, Limb* z, const Limb* table,
                       const Limb* exponents, std::size_t exponent_limbs, std::size_t count, Limb* scratch,
                       Checkpoint checkpoint) {
    const std::size_t lanes = ring.lanes();
    const std::size_t width = ring.width();
    const std::size_t groups = (count + lanes - 1) / lanes;
    Limb* results = scratch + ring.scratch_count();
    Limb* found = results + groups * width;
    Limb* digits = found + groups * width;
    for (std::size_t position = 0; position < shape.positions(); ++position) {
        checkpoint();
        for (std::size_t group = 0; group < groups; ++group) {
            const std::size_t first = group * lanes;
            digits_at(ring, shape, digits + first, exponents + first * exponent_limbs, exponent_limbs,
                      count - first, position);
        }
        ring.select_shared(position == 0 ? results : found, table + position * shape.position_words(ring),
                           shape.entry_count(), digits, groups);
        if (position == 0) continue;
        for (std::size_t group = 0; group < groups; ++group) {
            ring.multiply(results + group * width, results + group * width, found + group * width, scratch);
        }
    }
    for (std::size_t first = 0, group = 0; first < count; first += lanes, ++group) {
        ring.scatter(writes_of(z + first * ring.row_limbs(), ring.row_limbs(), count - first, lanes).data(),
                     results + group * width);
    }
}

void fixed_base_powers_vartime(const ResidueRing& ring, const FixedBaseShape& shape, Limb* z,
                               const Limb* table, const Limb* exponents, std::size_t exponent_limbs,
                               std::size_t count, Limb* scratch, Checkpoint checkpoint) {
    const std::size_t lanes = ring.lanes();
    for (std::size_t first = 0; first < count; first += lanes) {
        const WritePointers to =
            writes_of(z + first * ring.row_limbs(), ring.row_limbs(), count - first, lanes);
        group_powers_vartime(ring, shape, to.data(), table, exponents + first * exponent_limbs,
                             exponent_limbs, count - first, scratch, checkpoint);
    }
}

}  // namespace hekat
