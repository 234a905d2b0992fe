// Batches of products of many powers: inverses, tables, digits position by position, and what joins them.
#include <algorithm>
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
            const std::size_t base = terms.base(term, i);
            if (base < terms.base_count && terms.is_negative(term)) marked[base] = true;
        }
    }
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < terms.base_count; ++i) {
        if (marked[i]) indices.push_back(i);
    }
    return indices;
}

// inverses_i = 1 / bases_i for the given i, one for all others. Returns the first of them that has none.
// What it works on takes at most scratch_bytes beside the inverses.
std::optional<std::size_t> invert_bases(ThreadPool& pool, const ResidueRing& ring, Limb* inverses,
                                        const Limb* bases, std::size_t base_count,
                                        const std::vector<std::size_t>& indices, std::size_t scratch_bytes) {
    const std::size_t row = ring.row_limbs();
    // A quarter for bases, a quarter for inverses, half for what inverting them takes.
    const std::size_t most =
        std::clamp<std::size_t>(scratch_bytes / 4 / (row * sizeof(Limb)), 1, indices.size() + 1);
    SecretBuffer x(std::min(most, indices.size()) * row);
    SecretBuffer z(std::min(most, indices.size()) * row);
    for (std::size_t i = 0; i < base_count; ++i) {
        std::memcpy(inverses + i * row, ring.one_row(), row * sizeof(Limb));
    }
    for (std::size_t first = 0; first < indices.size(); first += most) {
        const std::size_t count = std::min(most, indices.size() - first);
        for (std::size_t k = 0; k < count; ++k) {
            std::memcpy(x.data() + k * row, bases + indices[first + k] * row, row * sizeof(Limb));
        }
        if (const auto refused = invert_residues(pool, ring, z.data(), x.data(), count, scratch_bytes / 2)) {
            return indices[first + *refused];
        }
        for (std::size_t k = 0; k < count; ++k) {
            std::memcpy(inverses + indices[first + k] * row, z.data() + k * row, row * sizeof(Limb));
        }
    }
    return std::nullopt;
}

// Everything that is worked on for one slice of bases.
class MultiPower {
  public:
    MultiPower(ThreadPool& pool, const ResidueRing& ring, const PowerTerms& terms, const Limb* inverses,
               const MultiPowerPlan& plan, std::size_t bits)
        : pool_(pool),
          ring_(ring),
          terms_(terms),
          plan_(plan),
          digits_(terms, plan.method),
          positions_(plan.method.positions(bits)),
          rows_{terms.bases, inverses, nullptr, nullptr},
          tables_(table_words()),
          inverse_tables_(inverses == nullptr ? 0 : table_words()) {}

    // z_j = result j, or z_j times result j.
    void multiply(Limb* z, bool into_products) {
        if (plan_.method.by_tables) fill_tables();
        for (std::size_t first = 0; first < terms_.result_count; first += plan_.pass_results) {
            const std::size_t last = std::min(terms_.result_count, first + plan_.pass_results);
            multiply_positions(first, last);
            join(z + first * ring_.row_limbs(), last - first, into_products);
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
        partials_.reset();  // before there is another
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

    // z_j = the product over positions of result j's digits, raised to their places; or z_j times it.
    void join(Limb* z, std::size_t result_count, bool into_products) {
        const double products =
            static_cast<double>(positions_ * (plan_.method.window_bits + plan_.block_count));
        const std::size_t together = 2 * ring_.lanes();
        pool_.run((result_count + together - 1) / together,
                  static_cast<double>(together) * products * ring_.product_ns(),
                  [&](std::size_t begin, std::size_t end) {
                      ProductQueue queue(ring_);
                      SecretBuffer memory(together * ring_.row_limbs());
                      for (std::size_t first = begin * together;
                           first < std::min(result_count, end * together); first += together) {
                          join_results(queue, memory.data(), z, result_count, first,
                                       std::min(result_count, first + together), into_products);
                      }
                  });
    }

    void join_results(ProductQueue& queue, Limb* memory, Limb* z, std::size_t result_count, std::size_t first,
                      std::size_t last, bool into_products) {
        const std::size_t row = ring_.row_limbs();
        std::vector<RunningProduct> results;
        for (std::size_t j = first; j < last; ++j) results.emplace_back(memory + (j - first) * row);
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
            if (!into_products) {
                std::memcpy(z + j * row, value == nullptr ? ring_.one_row() : value, row * sizeof(Limb));
            } else if (value != nullptr) {
                queue.multiply(z + j * row, z + j * row, value);
            }
        }
        queue.flush();
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

MultiPowerSize size_of(const ThreadPool& pool, const ResidueRing& ring, const PowerTerms& terms,
                       std::size_t scratch_bytes) {
    std::size_t longest = 0;
    for (std::size_t j = 0; j < terms.result_count; ++j) longest = std::max(longest, terms.term_count(j));
    return {terms.base_count, terms.result_count,       terms.term_count(),
            longest,          max_exponent_bits(terms), terms.negative != nullptr,
            ring.lanes(),     pool.thread_count(),      ring.row_limbs() * sizeof(Limb),
            scratch_bytes};
}

// `count` of the bases from `first` on, and the terms that have them.
PowerTerms slice_of(const PowerTerms& terms, const ResidueRing& ring, std::size_t first, std::size_t count) {
    PowerTerms slice = terms;
    slice.bases += first * ring.row_limbs();
    slice.base_count = count;
    if (!terms.is_dense()) {
        slice.first_base += first;
        return slice;
    }
    const std::size_t terms_before = first * terms.result_count;
    slice.exponents += terms_before * terms.exponent_limbs;
    if (terms.negative != nullptr) slice.negative += terms_before;
    return slice;
}

// The size of a slice of `count` bases, each taken to have as many terms as any other.
MultiPowerSize slice_size(const MultiPowerSize& size, std::size_t count) {
    MultiPowerSize slice = size;
    const auto share = [&](std::size_t terms) {
        return static_cast<std::size_t>(static_cast<double>(terms) * static_cast<double>(count) /
                                        static_cast<double>(std::max<std::size_t>(1, size.base_count)));
    };
    slice.base_count = count;
    slice.term_count = share(size.term_count);
    slice.longest = share(size.longest);
    return slice;
}

// z = the products, or z times them. Works by the plan, or returns the first base that lacks an inverse it
// needs.
std::optional<std::size_t> multiply_by_plan(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                            const PowerTerms& terms, const MultiPowerSize& size,
                                            const MultiPowerPlan& plan, bool into_products) {
    const bool needs_inverses = plan.method.is_signed || terms.negative != nullptr;
    SecretBuffer inverses(needs_inverses ? terms.base_count * ring.row_limbs() : 0);
    if (needs_inverses) {
        // What tables and partial products will take is free as yet.
        const auto refused = invert_bases(pool, ring, inverses.data(), terms.bases, terms.base_count,
                                          bases_to_invert(terms, plan.method.is_signed),
                                          size.most_table_bytes() + size.most_partial_bytes());
        if (refused) return refused;
    }
    MultiPower work(pool, ring, terms, needs_inverses ? inverses.data() : nullptr, plan, size.bits);
    work.multiply(z, into_products);
    return std::nullopt;
}

// Calls work(terms, size, whether z has products already) for all bases at once, or where they need inverses
// for slices of as many as are kept, until one returns a base that is refused.
template <typename Work>
std::optional<std::size_t> for_slices(const ResidueRing& ring, const PowerTerms& terms,
                                      const MultiPowerSize& size, bool needs_inverses, const Work& work) {
    const std::size_t slices =
        needs_inverses ? (terms.base_count + size.most_inverses() - 1) / size.most_inverses() : 1;
    if (slices <= 1) return work(terms, size, false);
    for (std::size_t i = 0; i < slices; ++i) {
        const std::size_t first = i * terms.base_count / slices;
        const std::size_t count = (i + 1) * terms.base_count / slices - first;
        const auto refused = work(slice_of(terms, ring, first, count), slice_size(size, count), i > 0);
        if (refused) return first + *refused;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> multiply_powers(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                           const PowerTerms& terms, std::size_t scratch_bytes) {
    const auto multiply = [&](const PowerTerms& slice, const MultiPowerSize& size, bool into_products) {
        const MultiPowerPlan plan = plan_multi_power(size, size.base_count <= size.most_inverses());
        const auto refused = multiply_by_plan(pool, ring, z, slice, size, plan, into_products);
        if (!refused || !plan.method.is_signed) return refused;
        // Some base has no inverse. Digits without signs need only the inverses of bases with a minus sign.
        return multiply_by_plan(pool, ring, z, slice, size, plan_multi_power(size, false), into_products);
    };
    return for_slices(ring, terms, size_of(pool, ring, terms, scratch_bytes), terms.negative != nullptr,
                      multiply);
}

std::optional<std::size_t> multiply_powers_by(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                              const PowerTerms& terms, std::size_t scratch_bytes,
                                              const PowerMethod& method) {
    const auto multiply = [&](const PowerTerms& slice, const MultiPowerSize& size, bool into_products) {
        return multiply_by_plan(pool, ring, z, slice, size, plan_by_method(size, method), into_products);
    };
    return for_slices(ring, terms, size_of(pool, ring, terms, scratch_bytes),
                      method.is_signed || terms.negative != nullptr, multiply);
}

}  // namespace hekat
