// Where the digits of rows go in the sparse plaintexts of sums by bin, sorted by the plaintext.
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

// Places of one plaintext: place e stands for X^(e - N), e from 1 to 2 N - 1.
struct Places {
    const std::uint16_t* data;
    std::size_t count;
};

class BinPlaces {
  public:
    BinPlaces(ThreadPool& pool, const Digits& digits, const Segments& segments);

    // The rows of one segment in one group. Segment s has the runs first_run(s) to first_run(s + 1) - 1.
    struct Run {
        std::size_t group;
        std::size_t first_row;
        std::size_t row_count;
    };
    std::size_t run_count() const { return runs_.size(); }
    std::size_t first_run(std::size_t segment) const { return first_runs_[segment]; }
    std::size_t group(std::size_t run) const { return runs_[run].group; }
    Places places(std::size_t run, std::size_t window) const;

  private:
    void sort_run(const Digits& digits, std::size_t run);

    std::size_t window_count_;
    std::vector<Run> runs_;
    std::vector<std::size_t> first_runs_;
    std::vector<std::size_t> run_places_;  // where the places of each run begin
    // offsets_[run * (window_count + 1) + w]: where the places of window w begin among the run's.
    std::vector<std::uint32_t> offsets_;
    std::vector<std::uint16_t> places_;
};

}  // namespace hekat::ring
