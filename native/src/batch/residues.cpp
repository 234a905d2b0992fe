// Batches of residues: in and out of the ring's form, element-wise products.
#include "batch/residues.hpp"

#include <atomic>
#include <cstring>

#include "bigint/integer.hpp"
#include "bigint/reveal.hpp"

namespace hekat {
namespace {

// The least of the indices that a batch refuses, noted by several threads.
class LeastRefused {
  public:
    // Notes index where the value is not below the bound. whole: bound_limbs limbs, those that the value
    // lacks zero.
    void note_unless_below(std::size_t index, const Limb* value, std::size_t value_limbs, const Limb* bound,
                           std::size_t bound_limbs, Limb* whole) {
        std::memcpy(whole, value, value_limbs * sizeof(Limb));
        if (reveal(is_below(whole, bound, bound_limbs) == 0)) note(index);
    }

    std::optional<std::size_t> index() const {
        const std::size_t least = least_;
        return least == kNone ? std::nullopt : std::optional(least);
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    void note(std::size_t index) {
        std::size_t seen = least_.load();
        while (index < seen && !least_.compare_exchange_weak(seen, index)) {
        }
    }

    std::atomic<std::size_t> least_{kNone};
};

std::atomic<std::uint64_t> entered_count{0};
std::atomic<std::uint64_t> left_count{0};

}  // namespace

ConversionCounts conversion_counts() { return {entered_count.load(), left_count.load()}; }

void count_entered(std::size_t count) { entered_count.fetch_add(count, std::memory_order_relaxed); }

std::optional<std::size_t> load_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                         const Limb* values, std::size_t value_limbs, std::size_t count) {
    count_entered(count);
    const std::size_t limbs = ring.limb_count();
    const std::size_t memory_words = ring.scratch_count() + ring.width() + limbs;
    LeastRefused refused;
    for_groups(pool, ring, count, ring.product_ns(), memory_words, [&](const Group& group, Limb* scratch) {
        Limb* x = scratch + ring.scratch_count();
        Limb* whole = x + ring.width();  // one value; the limbs that values lack stay zero
        for (std::size_t i = group.first; i < group.first + group.count; ++i) {
            refused.note_unless_below(i, values + i * value_limbs, value_limbs, ring.modulus(), limbs, whole);
        }
        ring.enter(x, group.reads({values, value_limbs, false}).data(), value_limbs, scratch);
        ring.scatter(group.writes(z, ring.row_limbs()).data(), x);
    });
    return refused.index();
}

void reduce_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* values,
                     std::size_t value_limbs, std::size_t count) {
    count_entered(count);
    const std::size_t memory_words = ring.scratch_count() + ring.width();
    for_groups(pool, ring, count, 2 * ring.product_ns(), memory_words,
               [&](const Group& group, Limb* scratch) {
                   Limb* x = scratch + ring.scratch_count();
                   ring.enter(x, group.reads({values, value_limbs, false}).data(), value_limbs, scratch);
                   ring.scatter(group.writes(z, ring.row_limbs()).data(), x);
               });
}

void store_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x, std::size_t count) {
    left_count.fetch_add(count, std::memory_order_relaxed);
    const std::size_t memory_words = ring.scratch_count() + ring.width();
    for_groups(pool, ring, count, ring.product_ns(), memory_words, [&](const Group& group, Limb* scratch) {
        Limb* wide = scratch + ring.scratch_count();
        ring.gather(wide, group.reads({x, ring.row_limbs(), false}).data());
        ring.leave(group.writes(z, ring.limb_count()).data(), wide, scratch);
    });
}

std::optional<std::size_t> multiply_by_one_plus(ThreadPool& pool, const ResidueRing& ring, Limb* z,
                                                const Items& a, const Items& m, const Limb* root,
                                                std::size_t root_limbs, std::size_t count) {
    count_entered(count);
    const Factors* factors = ring.factors();
    const std::size_t term_limbs = m.limbs + root_limbs;
    const std::size_t own_words =
        factors != nullptr ? factors->sum_words() : ring.width() + ring.lanes() * term_limbs;
    const std::size_t memory_words = ring.scratch_count() + ring.width() + own_words + root_limbs;
    LeastRefused refused;
    for_groups(
        pool, ring, count, 2 * ring.product_ns(), memory_words, [&](const Group& group, Limb* scratch) {
            Limb* x = scratch + ring.scratch_count();
            Limb* own = x + ring.width();
            Limb* whole = own + own_words;  // one value; the limbs that values lack stay zero
            const ReadPointers values = group.reads(m);
            for (std::size_t i = 0; i < group.count; ++i) {
                refused.note_unless_below(group.first + i, values[i], m.limbs, root, root_limbs, whole);
            }
            ring.gather(x, group.reads(a).data());
            if (factors != nullptr) {
                factors->enter_sum(own, values.data(), m.limbs, scratch);
                factors->settle(x, own, scratch);
            } else {
                Limb* terms = own + ring.width();
                for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
                    multiply_limbs(terms + lane * term_limbs, values[lane], m.limbs, root, root_limbs);
                    add_limb(terms + lane * term_limbs, 1, term_limbs);
                }
                ring.enter(own, reads_of(terms, term_limbs, ring.lanes(), ring.lanes()).data(), term_limbs,
                           scratch);
                ring.multiply(x, x, own, scratch);
            }
            ring.scatter(group.writes(z, ring.row_limbs()).data(), x);
        });
    return refused.index();
}

void multiply_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Items& a, const Items& b,
                       std::size_t count) {
    const std::size_t memory_words = ring.scratch_count() + 2 * ring.width();
    for_groups(pool, ring, count, ring.product_ns(), memory_words, [&](const Group& group, Limb* scratch) {
        Limb* left = scratch + ring.scratch_count();
        Limb* right = left + ring.width();
        ring.gather(left, group.reads(a).data());
        ring.gather(right, group.reads(b).data());
        Fetch next(ring.row_limbs());
        const std::size_t first = group.first + group.lanes;
        for (std::size_t i = first; i < std::min(count, first + group.lanes); ++i) {
            if (!a.is_one) next.add(a.at(i));
            if (!b.is_one) next.add(b.at(i));
            next.add(z + (i - group.lanes) * ring.row_limbs());
        }
        ring.multiply_and_fetch(left, left, right, scratch, next);
        ring.scatter(group.writes(z, ring.row_limbs()).data(), left);
    });
}

}  // namespace hekat
