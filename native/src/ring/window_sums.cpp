// Tasks, each the sums of one segment, one component and one prime: its rows of one group at a time, column
// by column, onto the sums of all windows.
#include "ring/window_sums.hpp"

#include <algorithm>
#include <vector>

namespace hekat::ring {
namespace {

// Rows whose coefficients stay in the first cache while every column adds them.
constexpr std::size_t kRowsAtOnce = 64;
// A reduced residue and so many more, each below 2^50, are below 2^63.
constexpr std::size_t kMostAdded = (std::size_t{1} << 13) - 1;
constexpr double kDigitNs = 0.5;  // a coefficient of one digit

class WindowSums {
  public:
    WindowSums(const Kernels& kernels, const Prime& prime, const Digits& digits)
        : kernels_(kernels),
          prime_(prime),
          digits_(digits),
          sums_(padded(digits.window * digits.window_count)),
          first_(2 * digits.window) {}

    // The rows first_row to end_row - 1, all of one group, whose element's row is `row`.
    void add(const Limb* row, std::size_t first_row, std::size_t end_row) {
        const std::size_t window = digits_.window;
        std::size_t j = first_row % (digits_.degree / window);
        if (j == 0) {
            // Coefficients before the first are the last ones, negated.
            for (std::size_t i = 0; i < window; ++i) {
                const Limb last = row[digits_.degree - window + i];
                first_[i] = last == 0 ? 0 : prime_.value - last;
                first_[window + i] = row[i];
            }
            add_columns(first_.data() + window, first_row, 1);
            ++first_row;
            ++j;
        }
        while (first_row < end_row) {
            const std::size_t count = std::min(kRowsAtOnce, end_row - first_row);
            add_columns(row + j * window, first_row, count);
            first_row += count;
            j += count;
        }
    }

    void put(Limb* out, std::size_t stride) {
        kernels_.reduce(sums_.data(), sums_.size(), prime_);
        for (std::size_t w = 0; w < digits_.window_count; ++w) {
            std::copy_n(sums_.data() + w * digits_.window, digits_.window, out + w * stride);
        }
    }

  private:
    void add_columns(const Limb* coefficients, std::size_t first_row, std::size_t count) {
        for (std::size_t m = 0; m < digits_.column_count; ++m) {
            if (added_ + count > kMostAdded) {
                kernels_.reduce(sums_.data(), sums_.size(), prime_);
                added_ = 0;
            }
            kernels_.add_windows(sums_.data(), coefficients, digits_.data + m * digits_.row_count + first_row,
                                 count, digits_.window);
            added_ += count;
        }
    }

    const Kernels& kernels_;
    const Prime& prime_;
    const Digits& digits_;
    std::vector<Limb> sums_;
    std::vector<Limb> first_;
    std::size_t added_ = 0;
};

}  // namespace

void sum_windows(const Ring& ring, ThreadPool& pool, Limb* out, const Limb* elements, std::size_t components,
                 const Digits& digits, const Segments& segments) {
    const std::size_t primes = ring.primes().size();
    const std::size_t group_rows = digits.degree / digits.window;
    const std::size_t tasks = segments.count * components * primes;
    const double coefficients = static_cast<double>(digits.row_count * digits.column_count * digits.window);
    const double task_ns = kDigitNs * coefficients / static_cast<double>(segments.count);
    pool.run(tasks, task_ns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t task = begin; task < end; ++task) {
            const std::size_t s = task / (components * primes);
            const std::size_t row_of_element = task % (components * primes);
            WindowSums sums(ring.kernels(), ring.primes()[task % primes], digits);
            const auto end_row = static_cast<std::size_t>(segments.starts[s + 1]);
            for (auto row = static_cast<std::size_t>(segments.starts[s]); row < end_row;) {
                ThreadPool::checkpoint();
                const std::size_t group = row / group_rows;
                const std::size_t group_end = std::min(end_row, (group + 1) * group_rows);
                sums.add(elements + (group * components * primes + row_of_element) * digits.degree, row,
                         group_end);
                row = group_end;
            }
            sums.put(out + (s * digits.window_count * components * primes + row_of_element) * digits.window,
                     components * primes * digits.window);
        }
    });
}

}  // namespace hekat::ring
