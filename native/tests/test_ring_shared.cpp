// Matrix products of elements against products one by one, and numbers known by their residues against long
// division, on every path. Arrays end where their contents do, for builds with sanitizers.
#include <algorithm>
#include <numeric>

#include "ring/dot.hpp"
#include "ring/fractions.hpp"
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::DotShape;
using hekat::ring::Fractions;
using hekat::ring::multiply_vartime;
using hekat::ring::Ring;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

ThreadPool& pool() {
    static ThreadPool one(3, [] { return true; });
    return one;
}

std::string text(const DotShape& shape, std::size_t degree, CpuPath path) {
    return "a product of " + std::to_string(shape.rows) + " x " + std::to_string(shape.terms) + " and " +
           std::to_string(shape.terms) + " x " + std::to_string(shape.columns) + " elements, stride " +
           std::to_string(shape.stride) + ", degree " + std::to_string(degree) + ", path " + name_of(path);
}

Limbs make_matrix(const Ring& ring, std::size_t count, std::size_t stride, bool largest, Source& source) {
    const std::size_t slots = ring.degree() / stride;
    Limbs rows;
    rows.reserve(count * ring.primes().size() * slots);
    for (std::size_t row = 0; row < count * ring.primes().size(); ++row) {
        const Limb p = ring.primes()[row % ring.primes().size()].value;
        const Limbs one = largest ? Limbs(slots, p - 1) : test::make_residues(source, slots, p);
        rows.insert(rows.end(), one.begin(), one.end());
    }
    return rows;
}

// At every slot, or at every `step`th.
void test_dot(const DotShape& shape, std::size_t degree, CpuPath path, bool largest, std::size_t step,
              Source& source) {
    const std::vector<Limb> primes{test::find_prime((Limb{1} << 50) - 1, degree, false),
                                   test::find_prime(2 * degree + 1, degree, true)};
    const Ring ring(degree, primes, {test::find_root(primes[0], degree), test::find_root(primes[1], degree)},
                    path);
    const std::size_t words = ring.element_words();
    const Limbs a = make_matrix(ring, shape.rows * shape.terms, shape.stride, largest, source);
    const Limbs b = make_matrix(ring, shape.terms * shape.columns, 1, largest, source);
    Limbs z(shape.rows * shape.columns * words, ~Limb{0});
    dot(ring, pool(), z.data(), a.data(), b.data(), shape);
    bool holds = true;
    for (std::size_t r = 0; r < shape.rows; ++r) {
        for (std::size_t c = 0; c < shape.columns; ++c) {
            for (std::size_t at = 0; at < words; at += step) {
                const Limb p = primes[at / degree];
                Limb sum = 0;
                for (std::size_t i = 0; i < shape.terms; ++i) {
                    sum += multiply_vartime(a[((r * shape.terms + i) * words + at) / shape.stride],
                                            b[(i * shape.columns + c) * words + at], p);
                }
                holds = holds && z[(r * shape.columns + c) * words + at] == sum % p;
            }
        }
    }
    check(holds, text(shape, degree, path));
}

// Both digits of floor(u 2^bits / q), one bit after another.
Limbs divide(Wide u, Wide q, unsigned bits) {
    Wide quotient = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
        u *= 2;
        quotient = 2 * quotient + (u >= q ? 1 : 0);
        if (u >= q) u -= q;
    }
    return {low_limb(quotient), high_limb(quotient)};
}

void test_fractions(const std::vector<Limb>& primes, CpuPath path, Source& source) {
    Wide q = 1;
    for (const Limb p : primes) q *= p;
    std::vector<Wide> numbers{0, 1, q / 2, q / 2 + 1, q - 1, q - 2};
    while (numbers.size() < 517) numbers.push_back((Wide{source.limb()} << 64 | source.limb()) % q);
    for (const unsigned bits : {1U, 51U, 52U, 53U, 60U, 64U, 65U, 104U, 105U, 127U, 128U}) {
        // Where the quotient steps, and just below.
        for (std::size_t i = 0; i < 4; ++i) {
            const Wide step = ((q >> (bits % 90)) * (i + 1) + i) % q;
            numbers[6 + 2 * i] = step;
            numbers[7 + 2 * i] = step == 0 ? q - 1 : step - 1;
        }
        Limbs residues;
        residues.reserve(numbers.size() * primes.size());
        for (const Wide u : numbers) {
            for (const Limb p : primes) residues.push_back(static_cast<Limb>(u % p));
        }
        for (const std::size_t count : {std::size_t{1}, std::size_t{9}, numbers.size()}) {
            Limbs z(2 * count, ~Limb{0});
            Fractions(primes, bits, path).floor(pool(), z.data(), residues.data(), count);
            bool holds = true;
            for (std::size_t n = 0; n < count; ++n) {
                const Limbs expected = divide(numbers[n], q, bits);
                holds = holds && z[2 * n] == expected[0] && z[2 * n + 1] == expected[1];
            }
            check(holds, "fractions of " + std::to_string(bits) + " bits, " + std::to_string(primes.size()) +
                             " primes, path " + name_of(path));
        }
    }
}

}  // namespace

int main() {
    Source source(15);
    const Limb top = test::find_prime((Limb{1} << 50) - 1, 8192, false);
    const std::vector<Limb> large{top, test::find_prime(top - 1, 8192, false)};
    const std::vector<Limb> small{32749, 2, 32719, 3, 32717, 32713, 12289, 32707};
    for (const CpuPath path : test::ring_paths()) {
        for (const DotShape& shape :
             {DotShape{1, 1, 1}, DotShape{3, 9, 2}, DotShape{2, 8, 3}, DotShape{5, 17, 5}, DotShape{1, 3, 18},
              DotShape{19, 2, 17}, DotShape{2, 70, 2}, DotShape{3, 9, 2, 2}, DotShape{1, 3, 18, 4},
              DotShape{5, 17, 5, 8}}) {
            for (const std::size_t degree : {std::size_t{1024}, std::size_t{4096}}) {
                test_dot(shape, degree, path, false, degree / 1024, source);
            }
            test_dot(shape, 1024, path, true, 1, source);
        }
        // More terms than sums of halves hold.
        test_dot({1, 2500, 1}, 1024, path, true, 61, source);
        test_dot({2, 1030, 1}, 1024, path, false, 61, source);
        for (std::size_t count = 1; count <= small.size(); ++count) {
            test_fractions({small.begin(), small.begin() + static_cast<std::ptrdiff_t>(count)}, path, source);
        }
        test_fractions({large[0]}, path, source);
        test_fractions(large, path, source);
    }
    return test::verdict();
}
