// Costs of methods and windows, in products.
#include "batch/multi_power_plan.hpp"

#include <algorithm>
#include <utility>

namespace hekat {
namespace {

constexpr unsigned kMaxTableWindow = 8;
constexpr unsigned kMaxBucketWindow = 12;
constexpr std::size_t kMinBlockTerms = 4;
constexpr double kInverseProducts = 3;

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
double as_double(std::size_t x) { return static_cast<double>(x); }

// Rows of tables, or of every thread's buckets.
double memory_rows(const MultiPowerSize& size, const MultiPowerPlan& plan) {
    const PowerMethod& method = plan.method;
    if (method.by_tables) {
        const std::size_t tables = method.is_signed || size.any_negative ? 2 : 1;
        return as_double(tables * size.base_count) * as_double(method.table_rows());
    }
    return as_double(size.thread_count * plan.slab) * as_double(method.max_digit() + 2);
}

double cost(const MultiPowerSize& size, const MultiPowerPlan& plan) {
    const PowerMethod& method = plan.method;
    const double positions = as_double(method.positions(size.bits));
    const double results = as_double(size.result_count);
    const double sequences = positions * results * as_double(plan.block_count);
    const double filled = 1 - 1 / as_double(std::size_t{1} << method.window_bits);
    double products = positions * as_double(size.term_count) * filled;
    // A bucket's first factor is free and its value is multiplied in once; each bucket is gone over once
    // more.
    products += method.by_tables ? memory_rows(size, plan) : sequences * as_double(method.max_digit());
    products += sequences;  // joined
    // Sequences that leave lanes or threads idle cost as if these worked.
    products *= std::max(1.0, as_double(size.lanes * size.thread_count) / std::max(1.0, sequences));
    if (method.is_signed && !size.any_negative) products += kInverseProducts * as_double(size.base_count);
    return products + results * positions * method.window_bits;
}

// Bytes beyond the scratch.
double excess(const MultiPowerSize& size, const MultiPowerPlan& plan) {
    const double tables = memory_rows(size, plan) * as_double(size.row_bytes);
    const double partials = as_double(std::max<std::size_t>(1, plan.method.positions(size.bits)) *
                                      plan.block_count * plan.pass_results * size.row_bytes);
    return std::max(0.0, tables - as_double(size.most_table_bytes())) +
           std::max(0.0, partials - as_double(size.most_partial_bytes()));
}

}  // namespace

MultiPowerPlan plan_by_method(const MultiPowerSize& size, const PowerMethod& method) {
    const std::size_t positions = std::max<std::size_t>(1, method.positions(size.bits));
    // A slab of two groups' sequences: no product has to wait for the one before.
    const std::size_t slab = size.lanes == 1 ? 1 : 2 * size.lanes;
    const std::size_t wanted = slab * size.thread_count;
    const std::size_t most_blocks = std::max<std::size_t>(1, size.longest / kMinBlockTerms);
    const std::size_t sequences = positions * std::max<std::size_t>(1, size.result_count);
    const std::size_t block_count = std::clamp<std::size_t>(divide_up(wanted, sequences), 1, most_blocks);
    const std::size_t result_bytes = positions * block_count * size.row_bytes;
    const std::size_t pass_results = std::clamp<std::size_t>(size.most_partial_bytes() / result_bytes, 1,
                                                             std::max<std::size_t>(1, size.result_count));
    return {method, block_count, slab, pass_results};
}

MultiPowerPlan plan_multi_power(const MultiPowerSize& size, bool may_sign) {
    MultiPowerPlan best = plan_by_method(size, {false, false, 1});
    std::pair<double, double> least{excess(size, best), cost(size, best)};
    for (const bool by_tables : {true, false}) {
        for (const bool is_signed : {false, true}) {
            if (is_signed && !may_sign) continue;
            for (unsigned window = 1; window <= (by_tables ? kMaxTableWindow : kMaxBucketWindow); ++window) {
                const MultiPowerPlan plan = plan_by_method(size, {by_tables, is_signed, window});
                const std::pair<double, double> rank{excess(size, plan), cost(size, plan)};
                if (rank >= least) continue;
                best = plan;
                least = rank;
            }
        }
    }
    return best;
}

}  // namespace hekat
