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

// Products of the entries of a table, a group of residues each, position after position.
class EntryProducts {
  public:
    EntryProducts(const ResidueRing& ring, const FixedBaseShape& shape)
        : ring_(ring),
          factors_(shape.factored ? ring.factors() : nullptr),
          position_count_(shape.positions()) {}

    // Words of a product in progress; the residues are in the first ring.width() of them.
    std::size_t width() const { return width(ring_); }
    static std::size_t width(const ResidueRing& ring) {
        return ring.width() + (ring.factors() == nullptr ? 0 : ring.factors()->sum_words());
    }

    // Brings the entries of a position into the product; after the last of them it is the power.
    void take(std::size_t position, Limb* product, const Limb* entries, Limb* scratch,
              const Fetch& next) const {
        Limb* sum = product + ring_.width();
        if (factors_ == nullptr) {
            if (position == 0) {
                std::memcpy(product, entries, ring_.width() * sizeof(Limb));
            } else {
                ring_.multiply_and_fetch(product, product, entries, scratch, next);
            }
            return;
        }
        if (position == 0) {
            factors_->begin(product, sum, entries);
        } else {
            factors_->multiply(product, sum, entries, scratch, next);
        }
        const bool is_full = (position + 1) % factors_->most_factors() == 0;
        if (is_full || position + 1 == position_count_) factors_->settle(product, sum, scratch);
    }

  private:
    const ResidueRing& ring_;
    const Factors* factors_;
    std::size_t position_count_;
};

// One group's powers by rows, the next position's rows being fetched meanwhile.
void group_powers_vartime(const ResidueRing& ring, const FixedBaseShape& shape, Limb* const* z,
                          const Limb* table, const Limb* exponents, std::size_t exponent_limbs,
                          std::size_t count, Limb* scratch, Checkpoint checkpoint) {
    const EntryProducts products(ring, shape);
    Limb* entry = scratch + ring.scratch_count();
    Limb* product = entry + ring.width();
    SecretArray<Limb, kMaxLanes> digits;
    SecretArray<const Limb*, kMaxLanes> rows;
    SecretArray<Fetch, 1> fetch;
    Fetch& next = fetch.items[0];
    const auto look_up = [&](std::size_t position) {
        next = Fetch(ring.row_limbs());
        if (position == shape.positions()) return;
        digits_at(ring, shape, digits.data(), exponents, exponent_limbs, count, position);
        const Limb* entries = table + position * shape.position_words(ring);
        for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
            rows.items[lane] = entries + digits.items[lane] * ring.row_limbs();
            next.add(rows.items[lane]);
        }
    };
    look_up(0);
    for (std::size_t position = 0; position < shape.positions(); ++position) {
        checkpoint();
        ring.gather(entry, rows.data());
        look_up(position + 1);
        products.take(position, product, entry, scratch, next);
    }
    ring.scatter(z, product);
}

double entry_product_ns(const ResidueRing& ring) {
    return ring.factors() == nullptr ? ring.product_ns() : ring.factors()->product_ns();
}

}  // namespace

unsigned fixed_base_window_bits(const ResidueRing& ring) {
    const double product_ns = entry_product_ns(ring);
    unsigned best = 4;
    double best_cost = 0;
    for (unsigned window = 4; window <= 8; ++window) {
        const double entries = static_cast<double>(1U << window);
        const double cost = (product_ns + entries * ring.shared_entry_ns()) / window;
        if (window == 4 || cost < best_cost) {
            best = window;
            best_cost = cost;
        }
    }
    return best;
}

double fixed_base_entry_products(const ResidueRing& ring) {
    // The entry, and for a factor as much again: its inverse and its second number, two products mod n each.
    const double made_ns = ring.product_ns() + (ring.factors() == nullptr ? 0 : ring.factors()->product_ns());
    return made_ns / entry_product_ns(ring);
}

std::size_t fill_positions_scratch_count(const ResidueRing& ring) {
    const std::size_t rows = ring.lanes() * ring.row_limbs();
    const std::size_t for_factors =
        ring.factors() == nullptr ? 0 : 2 * ring.width() + ring.factors()->sum_words();
    return ring.scratch_count() + 2 * ring.width() + rows + for_factors;
}

void fill_positions(const ResidueRing& ring, const FixedBaseShape& shape, Limb* table,
                    std::size_t first_position, const Limb* bases, const Limb* inverses, Limb* scratch,
                    Checkpoint checkpoint) {
    const std::size_t count = std::min(ring.lanes(), shape.positions() - first_position);
    const std::size_t row = ring.row_limbs();
    const std::size_t position_words = shape.position_words(ring);
    const Factors* factors = shape.factored ? ring.factors() : nullptr;
    Limb* base = scratch + ring.scratch_count();
    Limb* power = base + ring.width();
    Limb* rows = power + ring.width();
    Limb* one_over_base = nullptr;
    Limb* entry = power;
    Limb* power_inverses = nullptr;
    const WritePointers to = writes_of(rows, row, count, ring.lanes());
    ring.gather(base, reads_of(bases, row, count, ring.lanes()).data());
    std::memcpy(power, ring.one(), ring.width() * sizeof(Limb));
    if (factors != nullptr) {
        one_over_base = rows + ring.lanes() * row;
        entry = one_over_base + ring.width();
        power_inverses = entry + ring.width();
        ring.gather(one_over_base, reads_of(inverses, row, count, ring.lanes()).data());
        factors->begin_inverses(power_inverses);
    }
    for (std::size_t j = 0; j < shape.entry_count(); ++j) {
        if (j == 1) std::memcpy(power, base, ring.width() * sizeof(Limb));
        if (j > 1) ring.multiply(power, power, base, scratch);
        if (j % kCheckpointEntries == 0) checkpoint();
        if (factors != nullptr) {
            if (j > 0) factors->multiply_inverses(power_inverses, one_over_base, scratch);
            factors->make(entry, power, power_inverses, scratch);
        }
        ring.scatter(to.data(), entry);
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
    return ring.scratch_count() + groups * (EntryProducts::width(ring) + ring.width() + kMaxLanes);
}

void fixed_base_powers(const ResidueRing& ring, const FixedBaseShape& shape, Limb* z, const Limb* table,
                       const Limb* exponents, std::size_t exponent_limbs, std::size_t count, Limb* scratch,
                       Checkpoint checkpoint) {
    const EntryProducts products(ring, shape);
    const std::size_t lanes = ring.lanes();
    const std::size_t width = ring.width();
    const std::size_t groups = (count + lanes - 1) / lanes;
    Limb* results = scratch + ring.scratch_count();
    Limb* found = results + groups * products.width();
    Limb* digits = found + groups * width;
    for (std::size_t position = 0; position < shape.positions(); ++position) {
        checkpoint();
        for (std::size_t group = 0; group < groups; ++group) {
            const std::size_t first = group * lanes;
            digits_at(ring, shape, digits + first, exponents + first * exponent_limbs, exponent_limbs,
                      count - first, position);
        }
        ring.select_shared(found, table + position * shape.position_words(ring), shape.entry_count(), digits,
                           groups);
        for (std::size_t group = 0; group < groups; ++group) {
            products.take(position, results + group * products.width(), found + group * width, scratch,
                          Fetch());
        }
    }
    for (std::size_t first = 0, group = 0; first < count; first += lanes, ++group) {
        ring.scatter(writes_of(z + first * ring.row_limbs(), ring.row_limbs(), count - first, lanes).data(),
                     results + group * products.width());
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
