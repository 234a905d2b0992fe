// A ring of eight lanes that runs anywhere: eight times a ring of one, in layouts that fit no other ring's.
#pragma once

#include <algorithm>
#include <array>

#include "bigint/residue_ring.hpp"
#include "bigint/secret_buffer.hpp"
#include "check.hpp"

namespace hekat::test {

// Rows are the inner ring's with their words in reverse and a word of their own in front. A group in work
// holds word i of all lanes before word i + 1 of any, above a word that marks it. A shared table holds its
// last entry first.
class EightLanes final : public ResidueRing {
  public:
    static constexpr std::size_t kLanes = 8;
    static constexpr Limb kRowMark = 0x726f77;
    static constexpr Limb kGroupMark = 0x67726f7570;

    explicit EightLanes(const ResidueRing& inner)
        : ResidueRing({kLanes, inner.limb_count(), inner.row_limbs() + 1, kLanes * inner.width() + 1}),
          inner_(inner),
          one_(width()),
          one_row_(row_limbs()) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) put(one_.data(), lane, inner.one());
        put_row(one_row_.data(), inner.one_row());
    }

    std::size_t scratch_count() const override { return inner_.scratch_count() + 3 * inner_.width(); }
    double product_ns() const override { return inner_.product_ns(); }
    double shared_entry_ns() const override { return inner_.shared_entry_ns(); }
    double own_entry_ns() const override { return inner_.own_entry_ns(); }
    const Limb* modulus() const override { return inner_.modulus(); }
    const Limb* one() const override { return one_.data(); }
    const Limb* one_row() const override { return one_row_.data(); }

    void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const override {
        Limb* left = scratch + inner_.scratch_count();
        Limb* right = left + inner_.width();
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            get(left, a, lane);
            get(right, b, lane);
            inner_.multiply(left, left, right, scratch);
            put(z, lane, left);
        }
    }

    void square(Limb* z, const Limb* a, Limb* scratch) const override { multiply(z, a, a, scratch); }

    void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const override {
        Limb* x = scratch + inner_.scratch_count();
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            inner_.enter(x, values + lane, value_limbs, scratch);
            put(z, lane, x);
        }
    }

    void leave(Limb* const* values, const Limb* group, Limb* scratch) const override {
        Limb* x = scratch + inner_.scratch_count();
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            get(x, group, lane);
            if (values[lane] != nullptr) inner_.leave(values + lane, x, scratch);
        }
    }

    void gather(Limb* z, const Limb* const* rows) const override {
        SecretBuffer row(inner_.row_limbs());
        SecretBuffer x(inner_.width());
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            get_row(row.data(), rows[lane]);
            const Limb* inner_row = row.data();
            inner_.gather(x.data(), &inner_row);
            put(z, lane, x.data());
        }
    }

    void scatter(Limb* const* rows, const Limb* group) const override {
        SecretBuffer row(inner_.row_limbs());
        SecretBuffer x(inner_.width());
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            get(x.data(), group, lane);
            if (rows[lane] == nullptr) continue;
            Limb* inner_row = row.data();
            inner_.scatter(&inner_row, x.data());
            put_row(rows[lane], row.data());
        }
    }

    bool invert(Limb* z, const Limb* x) const override {
        SecretBuffer row(inner_.row_limbs());
        get_row(row.data(), x);
        const bool found = inner_.invert(row.data(), row.data());
        put_row(z, row.data());
        return found;
    }

    void select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const override {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            require(indices[lane] < entry_count, "an index is below its table\'s size");
        pick_vartime(z, table, indices);
    }

    void pick_vartime(Limb* z, const Limb* table, const Limb* indices) const override {
        SecretBuffer x(inner_.width());
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            get(x.data(), table + indices[lane] * width(), lane);
            put(z, lane, x.data());
        }
    }

    std::size_t shared_table_words(std::size_t entry_count) const override {
        return entry_count * row_limbs() + 1;
    }

    void put_shared(Limb* table, std::size_t entry_count, std::size_t index, const Limb* row) const override {
        require(index < entry_count, "an index is below its table\'s size");
        std::copy_n(row, row_limbs(), table + (entry_count - 1 - index) * row_limbs());
    }

    void select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                       std::size_t group_count) const override {
        for (std::size_t group = 0; group < group_count; ++group) {
            std::array<const Limb*, kLanes> rows{};
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const Limb index = indices[group * kLanes + lane];
                require(index < entry_count, "an index is below its table\'s size");
                rows[lane] = table + (entry_count - 1 - index) * row_limbs();
            }
            gather(z + group * width(), rows.data());
        }
    }

  private:
    // Counts failures alone: there are too many to count what holds.
    static void require(bool holds, const char* what) {
        if (!holds) check(false, what);
    }

    void get(Limb* x, const Limb* group, std::size_t lane) const {
        require(group[0] == kGroupMark, "a group is read where one was written");
        for (std::size_t i = 0; i < inner_.width(); ++i) x[i] = group[1 + i * kLanes + lane];
    }

    void put(Limb* group, std::size_t lane, const Limb* x) const {
        group[0] = kGroupMark;
        for (std::size_t i = 0; i < inner_.width(); ++i) group[1 + i * kLanes + lane] = x[i];
    }

    void get_row(Limb* x, const Limb* row) const {
        require(row[0] == kRowMark, "a row is read where one was written");
        std::reverse_copy(row + 1, row + row_limbs(), x);
    }

    void put_row(Limb* row, const Limb* x) const {
        row[0] = kRowMark;
        std::reverse_copy(x, x + inner_.row_limbs(), row + 1);
    }

    const ResidueRing& inner_;
    SecretBuffer one_;
    SecretBuffer one_row_;
};

}  // namespace hekat::test
