// First coefficients on every path: sums by digit against coefficients added one by one, products and
// encryptions of zero against whole ones. Arrays end where their contents do, for builds with sanitizers.
#include "ring/window_sums.hpp"
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::Ring;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

ThreadPool& pool() {
    static ThreadPool one(3, [] { return true; });
    return one;
}

struct Shape {
    std::size_t degree;
    std::vector<Limb> primes;
    std::size_t window;
    CpuPath path;

    std::string text(const char* name) const {
        return std::string(name) + ", degree " + std::to_string(degree) + ", p " + std::to_string(primes[0]) +
               ", window " + std::to_string(window) + ", path " + name_of(path);
    }
};

Ring make_ring(const Shape& shape) {
    std::vector<Limb> roots;
    for (const Limb p : shape.primes) roots.push_back(test::find_root(p, shape.degree));
    return Ring(shape.degree, shape.primes, roots, shape.path);
}

// Rows of `length` residues, one for each prime in turn.
Limbs make_rows(const Ring& ring, std::size_t count, std::size_t length, Source& source) {
    Limbs rows;
    for (std::size_t row = 0; row < count * ring.primes().size(); ++row) {
        const Limbs one =
            test::make_residues(source, length, ring.primes()[row % ring.primes().size()].value);
        rows.insert(rows.end(), one.begin(), one.end());
    }
    rows.shrink_to_fit();
    return rows;
}

struct Rows {
    std::vector<std::int64_t> starts;  // the last is the number of rows
    std::size_t columns;
    std::size_t window_count;
    std::size_t components;
};

void test_sums(const Shape& shape, const Rows& rows, Source& source) {
    const Ring ring = make_ring(shape);
    const auto row_count = static_cast<std::size_t>(rows.starts.back());
    const std::size_t group_rows = shape.degree / shape.window;
    const std::size_t primes = shape.primes.size();
    const std::size_t windows = rows.window_count;
    const Limbs elements =
        make_rows(ring, (row_count + group_rows - 1) / group_rows * rows.components, shape.degree, source);
    std::vector<std::int32_t> digits(rows.columns * row_count);
    const std::size_t limit = shape.window * windows;
    for (auto& digit : digits) digit = static_cast<std::int32_t>(source.limb() % (limit + 1)) - 1;
    const std::size_t segments = rows.starts.size() - 1;
    Limbs out(segments * windows * rows.components * primes * shape.window, ~Limb{0});
    ring::sum_windows(ring, pool(), out.data(), elements.data(), rows.components,
                      {digits.data(), rows.columns, row_count, shape.window, windows, shape.degree},
                      {rows.starts.data(), segments});

    Limbs expected(out.size(), 0);
    for (std::size_t s = 0; s < segments; ++s) {
        for (auto row = static_cast<std::size_t>(rows.starts[s]);
             row < static_cast<std::size_t>(rows.starts[s + 1]); ++row) {
            const std::size_t j = row % group_rows;
            for (std::size_t m = 0; m < rows.columns; ++m) {
                const std::int32_t digit = digits[m * row_count + row];
                if (digit < 0) continue;
                const std::size_t w = static_cast<std::size_t>(digit) / shape.window;
                const std::size_t place = static_cast<std::size_t>(digit) % shape.window;
                for (std::size_t part = 0; part < rows.components * primes; ++part) {
                    const Limb p = shape.primes[part % primes];
                    const Limb* const element =
                        elements.data() + (row / group_rows * rows.components * primes + part) * shape.degree;
                    Limb* const to = expected.data() +
                                     ((s * windows + w) * rows.components * primes + part) * shape.window;
                    for (std::size_t i = 0; i < shape.window; ++i) {
                        const std::size_t at = shape.degree + j * shape.window + i - place;
                        const Limb x = element[at % shape.degree];
                        to[i] = (to[i] + (at < shape.degree && x != 0 ? p - x : x)) % p;
                    }
                }
            }
        }
    }
    check(out == expected, shape.text("sums by digit"));
}

// The first coefficients of elements that are transformed.
Limbs first_of(const Ring& ring, const Limbs& elements, std::size_t count, std::size_t window) {
    Limbs whole(elements.size());
    ring.invert_transform(pool(), whole.data(), elements.data(), count);
    Limbs first;
    for (std::size_t row = 0; row < count * ring.primes().size(); ++row) {
        const Limb* const from = whole.data() + row * ring.degree();
        first.insert(first.end(), from, from + window);
    }
    return first;
}

void test_products(const Shape& shape, Source& source) {
    const Ring ring = make_ring(shape);
    constexpr std::size_t count = 2;
    constexpr std::size_t components = 3;
    const Limbs x = make_rows(ring, count, shape.degree, source);
    const Limbs y = make_rows(ring, components, shape.degree, source);
    Limbs out(count * components * ring.primes().size() * shape.window, ~Limb{0});
    ring.first_products(pool(), out.data(), shape.window, x.data(), count, y.data(), components);

    Limbs products(count * components * ring.element_words());
    for (std::size_t i = 0; i < count; ++i) {
        const Ring::Elements left{x.data() + i * ring.element_words(), true};
        ring.multiply(pool(), products.data() + i * components * ring.element_words(), left,
                      {y.data(), false}, components);
    }
    check(out == first_of(ring, products, count * components, shape.window),
          shape.text("first coefficients of products"));
}

void test_zeros(const Shape& shape, Source& source) {
    const Ring ring = make_ring(shape);
    constexpr std::size_t count = 2;
    constexpr std::size_t components = 2;
    const std::size_t words = ring.element_words();
    const std::size_t primes = ring.primes().size();
    const Limbs pair = make_rows(ring, 1 + components, shape.degree, source);
    const Limbs second_sums = make_rows(ring, count, shape.degree, source);
    const Limbs first_sums = make_rows(ring, count * components, shape.window, source);
    std::vector<std::int8_t> small(2 * count * shape.degree);
    for (auto& one : small) one = static_cast<std::int8_t>(static_cast<int>(source.limb() % 43) - 21);
    Limbs second(count * words, ~Limb{0});
    Limbs first(first_sums.size(), ~Limb{0});
    ring.add_zeros(
        pool(),
        {second.data(), first.data(), second_sums.data(), first_sums.data(), components, shape.window},
        small.data(), pair.data(), count);

    // v and e as residues, v transformed.
    Limbs residues(2 * count * words);
    for (std::size_t n = 0; n < residues.size(); ++n) {
        const std::size_t row = n / shape.degree / primes;
        const int value = small[row * shape.degree + n % shape.degree];
        const Limb p = ring.primes()[n / shape.degree % primes].value;
        residues[n] = value < 0 ? p - static_cast<Limb>(-value) : static_cast<Limb>(value);
    }
    Limbs v(residues.size());
    ring.transform(pool(), v.data(), residues.data(), 2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        Limbs zeros((1 + components) * words);
        ring.multiply(pool(), zeros.data(), {v.data() + 2 * i * words, true}, {pair.data(), false},
                      1 + components);
        Limbs whole(words);
        ring.add(pool(), whole.data(), {zeros.data(), false}, {second_sums.data() + i * words, false}, 1);
        ring.invert_transform(pool(), whole.data(), whole.data(), 1);
        ring.add(pool(), whole.data(), {whole.data(), false}, {residues.data() + (2 * i + 1) * words, false},
                 1);
        check(Limbs(&second[i * words], &second[i * words] + words) == whole,
              shape.text("a sum with an encryption of zero"));
        zeros.erase(zeros.begin(), zeros.begin() + static_cast<std::ptrdiff_t>(words));
        Limbs expected = first_of(ring, zeros, components, shape.window);
        for (std::size_t n = 0; n < expected.size(); ++n) {
            const Limb p = ring.primes()[n / shape.window % primes].value;
            expected[n] = (expected[n] + first_sums[i * expected.size() + n]) % p;
        }
        check(std::equal(expected.begin(), expected.end(),
                         first.begin() + static_cast<std::ptrdiff_t>(i * expected.size())),
              shape.text("first coefficients with an encryption of zero"));
    }
}

}  // namespace

int main() {
    Source source(80);
    for (const CpuPath path : test::ring_paths()) {
        for (const std::size_t degree : {std::size_t{1024}, std::size_t{4096}}) {
            const std::vector<Limb> ends = test::end_primes(degree);
            for (const std::vector<Limb>& primes : {std::vector<Limb>{ends[0], ends[2]}, {ends[1]}}) {
                for (std::size_t window = 1; window <= degree; window *= 2) {
                    const Shape shape{degree, primes, window, path};
                    const auto rows = static_cast<std::int64_t>(degree / window);
                    // From the first row of a group, through its last, into a part of the next.
                    const std::int64_t some = std::min<std::int64_t>(rows, 200);
                    test_sums(shape, {{0, some, rows, rows, rows + std::min<std::int64_t>(some, 3)}, 2, 2, 2},
                              source);
                    test_sums(shape, {{rows / 2, rows}, 3, 1, 1}, source);
                    test_products(shape, source);
                    test_zeros(shape, source);
                }
            }
        }
        const std::vector<Limb> two{test::end_primes(1024)[0], test::end_primes(1024)[1]};
        // More digits at a place than are added before a reduction.
        test_sums({1024, two, 1024, path}, {{0, 1}, 9000, 1, 1}, source);
        test_sums({1024, two, 8, path}, {{0, 130}, 200, 1, 1}, source);
    }
    return test::verdict();
}
