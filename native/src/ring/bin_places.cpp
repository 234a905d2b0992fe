// Counting sorts: of each run's terms by window, and of a window's terms by place.
#include "ring/bin_places.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace hekat::ring {
namespace {

constexpr double kDigitNs = 5;
constexpr std::size_t kMostPlaces = 128;

}  // namespace

BinPlaces::BinPlaces(ThreadPool& pool, const Digits& digits, const Segments& segments)
    : layout_(digits.degree), window_count_(digits.window_count), runs_{}, first_runs_{} {
    const std::size_t group_rows = digits.degree / digits.window;
    for (std::size_t s = 0; s < segments.count; ++s) {
        first_runs_.push_back(runs_.size());
        const auto end = static_cast<std::size_t>(segments.starts[s + 1]);
        for (auto row = static_cast<std::size_t>(segments.starts[s]); row < end;) {
            const std::size_t group = row / group_rows;
            const std::size_t count = std::min(end, (group + 1) * group_rows) - row;
            runs_.push_back({group, row, count});
            row += count;
        }
    }
    first_runs_.push_back(runs_.size());
    const double run_ns = kDigitNs * static_cast<double>(digits.column_count * group_rows);
    pool.run(runs_.size(), run_ns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t run = begin; run < end; ++run) sort_run(digits, runs_[run]);
    });
}

SparsePlaintext BinPlaces::plaintext(std::size_t run, std::size_t window) const {
    const Run& own = runs_[run];
    const std::size_t begin = own.offsets[window];
    return {own.depths.data() + window * layout_.groups, own.layers.data() + begin,
            own.offsets[window + 1] == begin};
}

void BinPlaces::sort_run(const Digits& digits, Run& run) const {
    const auto shift = static_cast<unsigned>(std::countr_zero(digits.window));
    const auto low = static_cast<std::uint32_t>(digits.window - 1);
    const auto first_of = [&](std::size_t column) {
        return digits.data + column * digits.row_count + run.first_row;
    };
    std::vector<std::uint32_t> ends(window_count_ + 1);
    for (std::size_t m = 0; m < digits.column_count; ++m) {
        const std::int32_t* const column = first_of(m);
        for (std::size_t n = 0; n < run.row_count; ++n) {
            if (column[n] >= 0) ++ends[(static_cast<std::uint32_t>(column[n]) >> shift) + 1];
        }
    }
    for (std::size_t w = 0; w < window_count_; ++w) ends[w + 1] += ends[w];
    std::vector<std::uint16_t> terms(ends[window_count_]);
    const std::size_t first_j = run.first_row - run.group * (digits.degree / digits.window);
    for (std::size_t m = 0; m < digits.column_count; ++m) {
        const std::int32_t* const column = first_of(m);
        auto base = static_cast<std::uint32_t>(digits.degree - (first_j << shift));
        for (std::size_t n = 0; n < run.row_count; ++n, base -= low + 1) {
            if (column[n] < 0) continue;
            const auto digit = static_cast<std::uint32_t>(column[n]);
            terms[ends[digit >> shift]++] = static_cast<std::uint16_t>(base + (digit & low));
        }
    }
    // Each beginning is the end of its window now.
    lay_out(run, terms.data(), ends.data());
}

void BinPlaces::lay_out(Run& run, const std::uint16_t* terms, const std::uint32_t* ends) const {
    const auto place_bits = static_cast<unsigned>(std::countr_zero(layout_.places));
    const std::size_t members = layout_.members;
    run.offsets.resize(window_count_ + 1);
    run.depths.resize(window_count_ * layout_.groups);
    std::array<std::uint32_t, kMostPlaces> counts{};
    std::array<std::size_t, kMostPlaces> bases{};
    for (std::size_t w = 0, begin = 0; w < window_count_; begin = ends[w], ++w) {
        counts.fill(0);
        for (std::size_t t = begin; t < ends[w]; ++t) ++counts[terms[t] & (layout_.places - 1)];
        std::uint32_t* const depths = run.depths.data() + w * layout_.groups;
        std::size_t size = run.offsets[w];
        for (std::size_t g = 0; g < layout_.groups; ++g) {
            for (std::size_t i = 0; i < members; ++i) {
                const std::size_t place = i * layout_.groups + g;
                depths[g] = std::max(depths[g], counts[place]);
                bases[place] = size + i;
            }
            size += depths[g] * members;
        }
        run.offsets[w + 1] = size;
        run.layers.resize(size, SparsePlaintext::kNoPart);
        for (std::size_t t = begin; t < ends[w]; ++t) {
            std::size_t& base = bases[terms[t] & (layout_.places - 1)];
            run.layers[base] = static_cast<std::uint8_t>(terms[t] >> place_bits);
            base += members;
        }
    }
}

}  // namespace hekat::ring
