// Sparse plaintexts of sums by bin: where the digits of rows stand in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch/thread_pool.hpp"

namespace hekat::ring {

// The digits of rows, column after column, each from -1 (nowhere) to window_count * window - 1; a group of
// rows has degree / window of them.
struct Digits {
    const std::int32_t* data;
    std::size_t column_count;
    std::size_t row_count;
    std::size_t window;  // a power of two up to the degree
    std::size_t window_count;
    std::size_t degree;
};

// Segment s has the rows starts[s] to starts[s + 1] - 1.
struct Segments {
    const std::int64_t* starts;
    std::size_t count;
};

inline constexpr std::size_t kPlaceParts = 64;

// How plaintexts of a degree are laid out: as a transform whose first six levels are a sum over the terms
// reads them. The term X^(e - N), e from 1 to 2 N - 1, is part c of place v, e = c N / 64 + v. Places come in
// groups that the next levels join: place i of group g is v = i `groups` + g.
struct PlaceLayout {
    explicit PlaceLayout(std::size_t degree)
        : places(degree / kPlaceParts), members(places < 64 ? places / 8 : 8), groups(places / members) {}

    std::size_t places;
    std::size_t members;  // places in a group
    std::size_t groups;
};

// One plaintext: for each group so many layers, one after another, each with a part c for every place of the
// group, or kNoPart.
struct SparsePlaintext {
    static constexpr std::uint8_t kNoPart = 2 * kPlaceParts;

    const std::uint32_t* depths;  // layers of each group
    const std::uint8_t* layers;
    bool is_zero;
};

class BinPlaces {
  public:
    BinPlaces(ThreadPool& pool, const Digits& digits, const Segments& segments);

    // A run: the rows of one segment in one group. Segment s has the runs first_run(s) to first_run(s + 1)
    // - 1.
    std::size_t run_count() const { return runs_.size(); }
    std::size_t first_run(std::size_t segment) const { return first_runs_[segment]; }
    std::size_t group(std::size_t run) const { return runs_[run].group; }
    SparsePlaintext plaintext(std::size_t run, std::size_t window) const;

  private:
    struct Run {
        std::size_t group;
        std::size_t first_row;
        std::size_t row_count;
        // For each window, and behind the last: where its layers begin. Then the depths of all windows'
        // groups.
        std::vector<std::size_t> offsets{};
        std::vector<std::uint32_t> depths{};
        std::vector<std::uint8_t> layers{};
    };
    void sort_run(const Digits& digits, Run& run) const;
    void lay_out(Run& run, const std::uint16_t* terms, const std::uint32_t* ends) const;

    PlaceLayout layout_;
    std::size_t window_count_;
    std::vector<Run> runs_;
    std::vector<std::size_t> first_runs_;
};

}  // namespace hekat::ring
