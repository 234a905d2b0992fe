// Rows that are needed soon, asked for while something else is computed.
#pragma once

#include <array>
#include <cstddef>

#include "bigint/limb.hpp"

namespace hekat {

// A processor waits once some ten cache lines are under way, so rows are asked for in parts, between the
// steps of a product.
class Fetch {
  public:
    // Rows of row_limbs words each, at most kMaxRows, the rows of three groups.
    explicit Fetch(std::size_t row_limbs) : row_limbs_(row_limbs) {}
    Fetch() : Fetch(0) {}

    void add(const Limb* row) { rows_[count_++] = row; }

    // Asks for part i of `parts` nearly equal ones, a line of each row in turn.
    void part(std::size_t i, std::size_t parts) const {
        if (count_ == 0) return;
        const std::size_t lines = (row_limbs_ + kLineLimbs - 1) / kLineLimbs * count_;
        std::size_t row = lines * i / parts % count_;
        std::size_t limb = lines * i / parts / count_ * kLineLimbs;
        for (std::size_t left = lines * (i + 1) / parts - lines * i / parts; left > 0; --left) {
            __builtin_prefetch(rows_[row] + limb);
            if (++row == count_) {
                row = 0;
                limb += kLineLimbs;
            }
        }
        // Without it GCC takes this for a function without effect, and drops it.
        asm volatile("");
    }

    static constexpr std::size_t kMaxRows = 3 * 8;

  private:
    static constexpr std::size_t kLineLimbs = 8;

    std::size_t row_limbs_;
    std::size_t count_ = 0;
    std::array<const Limb*, kMaxRows> rows_;
};

}  // namespace hekat
