// How a batch of products of powers is best worked out.
#pragma once

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
};

struct MultiPowerPlan {
    PowerMethod method;
    std::size_t block_count;   // parts that each result's terms are cut into
    std::size_t slab;          // sequences that one thread works on at once
    std::size_t pass_results;  // results that are worked on at once
};

// The plan of least cost whose tables or buckets stay below 256 MiB. Signed digits where minus signs need
// inverses anyway or the inverses pay for themselves, if may_sign.
MultiPowerPlan plan_multi_power(const MultiPowerSize& size, bool may_sign);

// The plan that a method makes.
MultiPowerPlan plan_by_method(const MultiPowerSize& size, const PowerMethod& method);

}  // namespace hekat
