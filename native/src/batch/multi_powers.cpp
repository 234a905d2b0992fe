// Batches of products of many powers: inverses, tables, digits position by position, and what joins them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "batch/inversion.hpp"
#include "batch/multi_power_plan.hpp"
#include "batch/powers.hpp"

namespace hekat {
namespace {

// The bases that a minus sign stands at; all of them where `every`.
std::vector<std::size_t> bases_to_invert(const PowerTerms& terms, bool every) {
    std::vector<bool> marked(terms.base_count, every);
    for (std::size_t j = 0; terms.negative != nullptr && !every && j < terms.result_count; ++j) {
        for (std::size_t i = 0; i < terms.term_count(j); ++i) {
            const std::size_t term = terms.term(j, i);
            if (terms.is_negative(term)) marked[terms.base(term, i)] = true;
        }
    }
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < terms.base_count; ++i) {
        if (marked[i]) indices.push_back(i);
    }
    return indices;
}

// inverses_i = 1 / bases_i for the given i, one for all others. Returns the first of them that has none.
std::optional<std::size_t> invert_bases(ThreadPool& pool, const ResidueRing& ring, Limb* inverses,
                                        const Limb* bases, std::size_t base_count,
                                        const std::vector<std::size_t>& indices) {
    const std::size_t row = ring.row_limbs();
    SecretBuffer x(indices.size() * row);
    SecretBuffer z(indices.size() * row);
    for (std::size_t k = 0; k < indices.size(); ++k) {
        std::memcpy(x.data() + k * row, bases + indices[k] * row, row * sizeof(Limb));
    }
    if (const auto refused = invert_residues(pool, ring, z.data(), x.data(), indices.size())) {
        return indices[*refused];
    }
    for (std::size_t i = 0; i < base_count; ++i)
        std::memcpy(inverses + i * row, ring.one_row(), row * sizeof(Limb));
    for (std::size_t k = 0; k < indices.size(); ++k) {
        std::memcpy(inverses + indices[k] * row, z.data() + k * row, row * sizeof(Limb));
    }
    return std::nullopt;
}

// Everything one call works on.
class MultiPower {
  public:
    MultiPower(ThreadPool& pool, const ResidueRing& ring, const PowerTerms& terms, const Limb* inverses,
               const MultiPowerPlan& plan, std::size_t bits)
        : pool_(pool),
          ring_(ring),
          terms_(terms),
          plan_(plan),
          digits_(terms, plan.method, bits),
          positions_(plan.method.positions(bits)),
          rows_{terms.bases, inverses, nullptr, nullptr},
          tables_(table_words()),
          inverse_tables_(inverses == nullptr ? 0 : table_words()) {}

    void multiply(Limb* z) {
        if (plan_.method.by_tables) fill_tables();
        for (std::size_t first = 0; first < terms_.result_count; first += plan_.pass_results) {
            const std::size_t last = std::min(terms_.result_count, first + plan_.pass_results);
            multiply_positions(first, last);
            join(z + first * ring_.row_limbs(), last - first);
        }
    }

  private:
    std::size_t table_words() const {
        return plan_.method.by_tables ? terms_.base_count * plan_.method.table_rows() * ring_.row_limbs() : 0;
    }

    void fill_tables() {
        rows_.tables = tables_.data();
        rows_.inverse_tables = inverse_tables_.data();
        const std::size_t row = ring_.row_limbs();
        const std::size_t together = 2 * ring_.lanes();
        const double part_ns =
            static_cast<double>(2 * together * plan_.method.table_rows()) * ring_.product_ns();
        pool_.run(
            (terms_.base_count + together - 1) / together, part_ns, [&](std::size_t begin, std::size_t end) {
                ProductQueue queue(ring_);
                const std::size_t first = begin * together;
                const std::size_t count = std::min(terms_.base_count, end * together) - first;
                const std::size_t at = first * plan_.method.table_rows() * row;
                fill_power_tables(queue, plan_.method, tables_.data() + at, rows_.bases + first * row, count);
                if (rows_.inverses == nullptr) return;
                fill_power_tables(queue, plan_.method, inverse_tables_.data() + at,
                                  rows_.inverses + first * row, count);
            });
    }

    // Partial s: block by block, position by position, result by result.
    PowerSequence sequence(std::size_t s, std::size_t first_result, std::size_t result_count) const {
        const std::size_t result = first_result + s % result_count;
        const std::size_t block = s / result_count / positions_;
        const std::size_t terms = terms_.term_count(result);
        return {result, s / result_count % positions_, block * terms / plan_.block_count,
                (block + 1) * terms / plan_.block_count};
    }

    void multiply_positions(std::size_t first_result, std::size_t last_result) {
        const std::size_t row = ring_.row_limbs();
        const std::size_t results = last_result - first_result;
        const std::size_t count = plan_.block_count * positions_ * results;
        partials_ = std::make_unique<SecretBuffer>(count * row);
        is_empty_ = std::make_unique<bool[]>(count);
        // As many for every thread.
        const std::size_t threads = pool_.thread_count();
        const std::size_t least = (count + plan_.slab - 1) / plan_.slab;
        const std::size_t slabs = std::min(count, (least + threads - 1) / threads * threads);
        const double terms = static_cast<double>(terms_.term_count()) * static_cast<double>(results) /
                             static_cast<double>(terms_.result_count);
        const double slab_ns = ring_.product_ns() * (static_cast<double>(positions_) * terms + 1) /
                               static_cast<double>(std::max<std::size_t>(slabs, 1));
        pool_.run(slabs, slab_ns, [&](std::size_t begin, std::size_t end) {
            ProductQueue queue(ring_);
            SecretBuffer memory(digits_memory_rows(plan_.method, plan_.slab) * row);
            for (std::size_t slab = begin; slab < end; ++slab) {
                // All slabs of about one size: none is left with a few sequences that leave lanes idle.
                const std::size_t first = slab * count / slabs;
                const std::size_t last = (slab + 1) * count / slabs;
                std::vector<PowerSequence> sequences;
                for (std::size_t s = first; s < last; ++s) {
                    sequences.push_back(sequence(s, first_result, results));
                }
                multiply_digits(queue, plan_.method, terms_, digits_, rows_, sequences,
                                partials_->data() + first * row, is_empty_.get() + first, memory.data(),
                                ThreadPool::checkpoint);
            }
        });
    }

    // z_j = the product over positions of result j's digits, raised to their places.
    void join(Limb* z, std::size_t result_count) {
        const double products =
            static_cast<double>(positions_ * (plan_.method.window_bits + plan_.block_count));
        const std::size_t together = 2 * ring_.lanes();
        pool_.run((result_count + together - 1) / together,
                  static_cast<double>(together) * products * ring_.product_ns(),
                  [&](std::size_t begin, std::size_t end) {
                      join_results(z, result_count, begin * together, std::min(result_count, end * together));
                  });
    }

    void join_results(Limb* z, std::size_t result_count, std::size_t first, std::size_t last) {
        const std::size_t row = ring_.row_limbs();
        ProductQueue queue(ring_);
        std::vector<RunningProduct> results;
        for (std::size_t j = first; j < last; ++j) results.emplace_back(z + j * row);
        for (std::size_t position = positions_; position-- > 0;) {
            ThreadPool::checkpoint();
            for (unsigned i = 0; i < plan_.method.window_bits; ++i) {
                for (RunningProduct& result : results) result.square(queue);
            }
            for (std::size_t block = 0; block < plan_.block_count; ++block) {
                for (std::size_t j = first; j < last; ++j) {
                    const std::size_t s = (block * positions_ + position) * result_count + j;
                    if (!is_empty_[s]) results[j - first].multiply(queue, partials_->data() + s * row);
                }
            }
        }
        queue.flush();
        for (std::size_t j = first; j < last; ++j) {
            const Limb* value = results[j - first].value();
            if (value == z + j * row) continue;
            std::memcpy(z + j * row, value == nullptr ? ring_.one_row() : value, row * sizeof(Limb));
        }
    }

    ThreadPool& pool_;
    const ResidueRing& ring_;
    const PowerTerms& terms_;
    MultiPowerPlan plan_;
    PowerDigits digits_;
    std::size_t positions_;
    PowerRows rows_;
    SecretBuffer tables_;
    SecretBuffer inverse_tables_;
    std::unique_ptr<SecretBuffer> partials_{};
    std::unique_ptr<bool[]> is_empty_{};
};

MultiPowerSize size_of(const ThreadPool& pool, const ResidueRing& ring, const PowerTerms& terms) {
    std::size_t longest = 0;
    for (std::size_t j = 0; j < terms.result_count; ++j) longest = std::max(longest, terms.term_count(j));
    return {terms.base_count, terms.result_count,       terms.term_count(),
            longest,          max_exponent_bits(terms), terms.negative != nullptr,
            ring.lanes(),     pool.thread_count(),      ring.row_limbs() * sizeof(Limb)};
}

// Works by the plan, or returns the first base that lacks an inverse it needs.
std::optional<std::size_t> multiply_by_plan(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                            const PowerTerms& terms, const MultiPowerPlan& plan,
                                            std::size_t bits) {
    const bool needs_inverses = plan.method.is_signed || terms.negative != nullptr;
    SecretBuffer inverses(needs_inverses ? terms.base_count * ring.row_limbs() : 0);
    if (needs_inverses) {
        const auto refused = invert_bases(pool, ring, inverses.data(), terms.bases, terms.base_count,
                                          bases_to_invert(terms, plan.method.is_signed));
        if (refused) return refused;
    }
    MultiPower work(pool, ring, terms, needs_inverses ? inverses.data() : nullptr, plan, bits);
    work.multiply(z);
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> multiply_powers(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                           const PowerTerms& terms) {
    const MultiPowerSize size = size_of(pool, ring, terms);
    const MultiPowerPlan plan = plan_multi_power(size, true);
    const auto refused = multiply_by_plan(pool, ring, z, terms, plan, size.bits);
    if (!refused || !plan.method.is_signed) return refused;
    // Some base has no inverse. Digits without signs need only those of the bases that have a minus sign.
    return multiply_by_plan(pool, ring, z, terms, plan_multi_power(size, false), size.bits);
}

std::optional<std::size_t> multiply_powers_by(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                              const PowerTerms& terms, const PowerMethod& method) {
    const MultiPowerSize size = size_of(pool, ring, terms);
    return multiply_by_plan(pool, ring, z, terms, plan_by_method(size, method), size.bits);
}

}  // namespace hekat
