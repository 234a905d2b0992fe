// How a batch of products of powers is best worked out.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bigint/multi_power.hpp"

namespace hekat {

// What a plan is made for.
struct MultiPowerSize {
    std::size_t base_count;
    std::size_t result_count;
    std::size_t term_count;  // of all results
    std::size_t longest;     // terms of the longest result
    std::size_t bits;        // the most that any exponent has
    bool any_negative;
    std::size_t lanes;
    std::size_t thread_count;
    std::size_t row_bytes;
    std::size_t scratch_bytes;  // for all that grows with the input

    // Half of the scratch is for tables or buckets, a quarter for partial products, and one for inverses.
    std::size_t most_table_bytes() const { return scratch_bytes / 2; }
    std::size_t most_partial_bytes() const { return scratch_bytes / 4; }
    // Bases whose inverses are kept at once.
    std::size_t most_inverses() const { return std::max<std::size_t>(1, scratch_bytes / 4 / row_bytes); }
};

struct MultiPowerPlan {
    PowerMethod method;
    std::size_t block_count;   // parts that each result's terms are cut into
    std::size_t slab;          // sequences that one thread works on at once
    std::size_t pass_results;  // results that are worked on at once
};

// The plan of least cost among those that stay within the scratch, or that exceed it least. Signed digits
// where minus signs need inverses anyway or the inverses pay for themselves, if may_sign.
MultiPowerPlan plan_multi_power(const MultiPowerSize& size, bool may_sign);

// The plan that a method makes.
MultiPowerPlan plan_by_method(const MultiPowerSize& size, const PowerMethod& method);

}  // namespace hekat
