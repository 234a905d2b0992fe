// A counting sort of each run by window.
#include "ring/bin_places.hpp"

#include <algorithm>
#include <bit>

namespace hekat::ring {
namespace {

constexpr double kDigitNs = 3;

}  // namespace

BinPlaces::BinPlaces(ThreadPool& pool, const Digits& digits, const Segments& segments)
    : window_count_(digits.window_count), runs_{}, first_runs_{}, run_places_{}, offsets_{}, places_{} {
    const std::size_t group_rows = digits.degree / digits.window;
    std::size_t place = 0;
    for (std::size_t s = 0; s < segments.count; ++s) {
        first_runs_.push_back(runs_.size());
        const auto end = static_cast<std::size_t>(segments.starts[s + 1]);
        for (auto row = static_cast<std::size_t>(segments.starts[s]); row < end;) {
            const std::size_t group = row / group_rows;
            const std::size_t count = std::min(end, (group + 1) * group_rows) - row;
            runs_.push_back({group, row, count});
            run_places_.push_back(place);
            place += count * digits.column_count;
            row += count;
        }
    }
    first_runs_.push_back(runs_.size());
    offsets_.resize(runs_.size() * (window_count_ + 1));
    places_.resize(place);
    const double run_ns = kDigitNs * static_cast<double>(digits.column_count * group_rows);
    pool.run(runs_.size(), run_ns, [&](std::size_t begin, std::size_t run_end) {
        for (std::size_t run = begin; run < run_end; ++run) sort_run(digits, run);
    });
}

Places BinPlaces::places(std::size_t run, std::size_t window) const {
    const std::uint32_t* const offsets = offsets_.data() + run * (window_count_ + 1) + window;
    return {places_.data() + run_places_[run] + offsets[0], offsets[1] - offsets[0]};
}

void BinPlaces::sort_run(const Digits& digits, std::size_t run) {
    const auto [group, first_row, row_count] = runs_[run];
    const auto shift = static_cast<unsigned>(std::countr_zero(digits.window));
    const auto low = static_cast<std::uint32_t>(digits.window - 1);
    std::uint32_t* const offsets = offsets_.data() + run * (window_count_ + 1);
    for (std::size_t m = 0; m < digits.column_count; ++m) {
        const std::int32_t* const column = digits.data + m * digits.row_count + first_row;
        for (std::size_t n = 0; n < row_count; ++n) {
            if (column[n] >= 0) ++offsets[(static_cast<std::uint32_t>(column[n]) >> shift) + 1];
        }
    }
    for (std::size_t w = 0; w < window_count_; ++w) offsets[w + 1] += offsets[w];
    std::vector<std::uint32_t> next(offsets, offsets + window_count_);
    std::uint16_t* const places = places_.data() + run_places_[run];
    const std::size_t first_j = first_row - group * (digits.degree / digits.window);
    for (std::size_t m = 0; m < digits.column_count; ++m) {
        const std::int32_t* const column = digits.data + m * digits.row_count + first_row;
        auto base = static_cast<std::uint32_t>(digits.degree - (first_j << shift));
        for (std::size_t n = 0; n < row_count; ++n, base -= low + 1) {
            if (column[n] < 0) continue;
            const auto digit = static_cast<std::uint32_t>(column[n]);
            places[next[digit >> shift]++] = static_cast<std::uint16_t>(base + (digit & low));
        }
    }
}

}  // namespace hekat::ring
