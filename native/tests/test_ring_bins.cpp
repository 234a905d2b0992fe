// Sums by bin on every path against plaintexts written out, transformed and multiplied one by one.
#include "ring/bin_sums.hpp"
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::multiply_vartime;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

constexpr std::int32_t kAny = -2;

struct Case {
    const char* name;
    std::size_t degree;
    std::vector<Limb> primes;
    std::size_t window;
    std::size_t window_count;
    std::size_t columns;
    std::vector<std::int64_t> starts;  // the last is the number of rows
    std::size_t components;
    std::int32_t digit;  // of all rows and columns; kAny: any, or absent

    std::size_t rows() const { return static_cast<std::size_t>(starts.back()); }
    std::size_t group_rows() const { return degree / window; }
    std::size_t groups() const { return (rows() + group_rows() - 1) / group_rows(); }
};

std::vector<std::int32_t> make_digits(const Case& one, Source& source) {
    std::vector<std::int32_t> digits(one.columns * one.rows());
    const std::size_t limit = one.window * one.window_count;
    for (std::int32_t& digit : digits) {
        digit = one.digit == kAny ? static_cast<std::int32_t>(source.limb() % (limit + 1)) - 1 : one.digit;
    }
    return digits;
}

// The coefficients, mod p, of one plaintext.
Limbs write_plaintext(const Case& one, const std::vector<std::int32_t>& digits, std::size_t segment,
                      std::size_t window, std::size_t group, Limb p) {
    Limbs coefficients(one.degree, 0);
    const auto first = static_cast<std::size_t>(one.starts[segment]);
    const auto end = static_cast<std::size_t>(one.starts[segment + 1]);
    for (std::size_t row = first; row < end; ++row) {
        if (row / one.group_rows() != group) continue;
        const std::size_t j = row % one.group_rows();
        for (std::size_t m = 0; m < one.columns; ++m) {
            const std::int32_t digit = digits[m * one.rows() + row];
            if (digit < 0 || static_cast<std::size_t>(digit) / one.window != window) continue;
            const std::size_t i = static_cast<std::size_t>(digit) % one.window;
            const bool is_negative = i < j * one.window;
            Limb& coefficient = coefficients[(one.degree + i - j * one.window) % one.degree];
            coefficient = (coefficient + (is_negative ? p - 1 : 1)) % p;
        }
    }
    return coefficients;
}

void test_case(const Case& one, CpuPath path, Source& source) {
    const std::size_t degree = one.degree;
    std::vector<Limb> roots;
    for (const Limb p : one.primes) roots.push_back(test::find_root(p, degree));
    const ring::Ring ring(degree, one.primes, roots, path);
    const ring::BinSums bins(ring);
    ThreadPool pool(3, [] { return true; });
    const std::size_t words = ring.element_words();
    Limbs elements;
    for (std::size_t row = 0; row < one.groups() * one.components * one.primes.size(); ++row) {
        const Limbs residues = test::make_residues(source, degree, one.primes[row % one.primes.size()]);
        elements.insert(elements.end(), residues.begin(), residues.end());
    }
    const std::vector<std::int32_t> digits = make_digits(one, source);
    const std::size_t segments = one.starts.size() - 1;
    const std::size_t out_elements = segments * one.window_count * one.components;
    Limbs out(out_elements * words, ~Limb{0});
    bins.sum(pool, out.data(), elements.data(), one.components,
             {digits.data(), one.columns, one.rows(), one.window, one.window_count, degree},
             {one.starts.data(), segments});

    Limbs expected(out.size(), 0);
    for (std::size_t s = 0; s < segments; ++s) {
        for (std::size_t w = 0; w < one.window_count; ++w) {
            for (std::size_t k = 0; k < one.groups(); ++k) {
                for (std::size_t i = 0; i < one.primes.size(); ++i) {
                    const Limb p = one.primes[i];
                    Limbs factors = write_plaintext(one, digits, s, w, k, p);
                    ring.kernels().transform(factors.data(), ring.primes()[i]);
                    for (std::size_t c = 0; c < one.components; ++c) {
                        const Limb* const from =
                            elements.data() + (k * one.components + c) * words + i * degree;
                        Limb* const to = expected.data() +
                                         ((s * one.window_count + w) * one.components + c) * words +
                                         i * degree;
                        for (std::size_t n = 0; n < degree; ++n) {
                            to[n] = (to[n] + multiply_vartime(from[n], factors[n], p)) % p;
                        }
                    }
                }
            }
        }
    }
    check(out == expected, std::string(one.name) + ", degree " + std::to_string(degree) + ", p " +
                               std::to_string(one.primes[0]) + ", path " + name_of(path));
}

// The greatest primes below 2^bits.
std::vector<Limb> primes_below(unsigned bits, std::size_t degree, std::size_t count) {
    std::vector<Limb> primes;
    for (Limb from = (Limb{1} << bits) - 1; primes.size() < count; from = primes.back() - 1) {
        primes.push_back(test::find_prime(from, degree, false));
    }
    return primes;
}

}  // namespace

int main() {
    Source source(17);
    for (const CpuPath path : test::ring_paths()) {
        for (const std::size_t degree : {1024, 2048, 4096, 8192}) {
            std::vector<Limb> primes = test::end_primes(degree);
            for (const unsigned bits : {48, 49}) primes.push_back(primes_below(bits, degree, 1)[0]);
            for (const Limb p : primes) {
                test_case({"groups", degree, {p}, degree / 4, 2, 3, {1, 3, 3, 9}, 2, kAny}, path, source);
                // All terms at the first place: each level adds 2 p to the last slot, and takes nothing from
                // it.
                test_case({"the first place", degree, {p}, degree / 2, 1, 1, {0, 2}, 1, 0}, path, source);
                test_case({"the same digits", degree, {p}, 256, 1, 40, {0, 4}, 1, 255}, path, source);
            }
        }
        const std::vector<Limb> two = primes_below(48, 1024, 2);
        test_case({"windows of one", 1024, two, 1, 3, 2, {0, 70}, 4, kAny}, path, source);
        test_case({"two primes", 1024, two, 64, 5, 7, {0, 20, 37}, 3, kAny}, path, source);
        // More than 2^14 residues just below 2^50 pass 2^64.
        test_case({"many terms at a place", 1024, primes_below(50, 1024, 1), 1024, 1, 20001, {0, 1}, 1, 1023},
                  path, source);
        for (const std::int64_t groups : {511, 512, 513, 1025}) {
            test_case({"many groups", 1024, {two[0]}, 1024, 1, 2, {0, groups}, 1, 1023}, path, source);
        }
        test_case({"more groups than a cache holds", 1024, {two[0]}, 1024, 1, 2, {0, 147}, 7, 1023}, path,
                  source);
    }
    return test::verdict();
}
