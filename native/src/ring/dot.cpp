// Tasks, each some rows of a product mod one prime, on neighbouring slots: what all rows multiply stays in
// cache.
#include "ring/dot.hpp"

#include <algorithm>

namespace hekat::ring {
namespace {

// Neighbouring slots: a page, which processors fetch ahead in.
constexpr std::size_t kSlots = 512;
// Words that all rows multiply, which stay in the second cache.
constexpr std::size_t kKeptWords = std::size_t{1} << 16;
constexpr std::size_t kTasksPerThread = 8;
static_assert(kMinDegree % kSlots == 0);

// A matrix of elements, from the first slot of a task on.
struct Elements {
    const Limb* data;
    std::size_t row_stride;
    std::size_t column_stride;

    const Limb* at(std::size_t row, std::size_t column) const {
        return data + row * row_stride + column * column_stride;
    }
};

class DotTask {
  public:
    DotTask(const Kernels& kernels, const Prime& prime, const Elements& x, const Elements& y,
            const DotShape& shape)
        : kernels_(kernels),
          prime_(prime),
          x_(x),
          y_(y),
          shape_(shape),
          most_columns_(std::clamp(kKeptWords / (kSlots * shape.terms), std::size_t{2}, kMostColumns)),
          sums_(2 * kSlots * most_columns_),
          product_(kSlots) {}

    // The rows first_row to end_row - 1 of z.
    void multiply(Limb* z, std::size_t z_row_stride, std::size_t z_column_stride, std::size_t first_row,
                  std::size_t end_row) {
        for (std::size_t column = 0; column < shape_.columns; column += most_columns_) {
            const std::size_t columns = std::min(most_columns_, shape_.columns - column);
            for (std::size_t row = first_row; row < end_row; ++row) {
                ThreadPool::checkpoint();
                multiply_row(z + row * z_row_stride + column * z_column_stride, z_column_stride, row, column,
                             columns);
            }
        }
    }

  private:
    void multiply_row(Limb* z, std::size_t z_column_stride, std::size_t row, std::size_t column,
                      std::size_t columns) {
        for (std::size_t first = 0; first < shape_.terms; first += kMostProducts) {
            const std::size_t end = std::min(first + kMostProducts, shape_.terms);
            std::fill(sums_.data(), sums_.data() + 2 * kSlots * columns, Limb{0});
            for (std::size_t term = first; term < end; term += kMostTerms) {
                kernels_.add_terms(
                    sums_.data(), kSlots,
                    {std::min(kMostTerms, end - term), x_.at(row, term), x_.column_stride, shape_.stride,
                     columns, y_.at(term, column), y_.row_stride, y_.column_stride});
            }
            for (std::size_t c = 0; c < columns; ++c) {
                Limb* const to = z + c * z_column_stride;
                const Limb* const sums = sums_.data() + 2 * kSlots * c;
                kernels_.reduce_terms(first == 0 ? to : product_.data(), sums, kSlots, prime_);
                if (first != 0) kernels_.add(to, to, product_.data(), kSlots, prime_);
            }
        }
    }

    const Kernels& kernels_;
    const Prime& prime_;
    Elements x_;
    Elements y_;
    const DotShape& shape_;
    std::size_t most_columns_;
    SecretBuffer sums_;
    SecretBuffer product_;
};

}  // namespace

void dot(const Ring& ring, ThreadPool& pool, Limb* z, const Limb* a, const Limb* b, const DotShape& shape) {
    const std::size_t words = ring.element_words();
    const std::size_t blocks = words / kSlots;
    const std::size_t short_words = words / shape.stride;
    Elements x{a, shape.terms * short_words, short_words};
    Elements y{b, shape.columns * words, words};
    DotShape turned = shape;
    std::size_t z_row_stride = shape.columns * words;
    std::size_t z_column_stride = words;
    // Read once is what there is more of, or what is short: the transposed product where there are fewer
    // rows.
    if (shape.rows < shape.columns && shape.stride == 1) {
        x = {b, words, shape.columns * words};
        y = {a, words, shape.terms * words};
        turned = {shape.columns, shape.terms, shape.rows};
        std::swap(z_row_stride, z_column_stride);
    }
    const std::size_t wanted = (kTasksPerThread * pool.thread_count() + blocks - 1) / blocks;
    const std::size_t bundles = std::min(wanted, turned.rows);
    const double products = static_cast<double>(shape.rows * shape.terms * shape.columns * kSlots);
    pool.run(blocks * bundles, products * ring.product_ns() / static_cast<double>(bundles),
             [&](std::size_t begin, std::size_t end) {
                 for (std::size_t task = begin; task < end; ++task) {
                     const std::size_t bundle = task % bundles;
                     const std::size_t at = task / bundles * kSlots;
                     const Prime& prime = ring.primes()[at / ring.degree()];
                     DotTask of_block(ring.kernels(), prime,
                                      {x.data + at / shape.stride, x.row_stride, x.column_stride},
                                      {y.data + at, y.row_stride, y.column_stride}, turned);
                     of_block.multiply(z + at, z_row_stride, z_column_stride, bundle * turned.rows / bundles,
                                       (bundle + 1) * turned.rows / bundles);
                 }
             });
}

}  // namespace hekat::ring
