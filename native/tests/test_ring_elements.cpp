// Transforms against the definition and against products by hand, slot by slot operations against integers.
#include <algorithm>
#include <limits>

#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::Kernels;
using hekat::ring::multiply_vartime;
using hekat::ring::power_vartime;
using hekat::ring::Prime;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

constexpr std::size_t kDegrees[] = {1024, 2048, 4096, 8192};

std::string named(const char* what, const Prime& prime, CpuPath path) {
    return std::string(what) + ", degree " + std::to_string(prime.degree) + ", p " +
           std::to_string(prime.value) + ", path " + name_of(path);
}

// Coefficient n of the negacyclic product.
Limb coefficient(const Limbs& a, const Limbs& b, std::size_t n, Limb p) {
    Wide sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::size_t j = (n + a.size() - i) % a.size();
        const Limb product = multiply_vartime(a[i], b[j], p);
        sum += i <= n ? product : p - product;
    }
    return static_cast<Limb>(sum % p);
}

std::size_t reverse_bits(std::size_t x, std::size_t degree) {
    std::size_t reversed = 0;
    for (std::size_t bit = 1; bit < degree; bit *= 2, x /= 2) reversed = 2 * reversed + x % 2;
    return reversed;
}

// Some slots against the value at psi^(2 brv(j) + 1).
void test_slots(const Prime& prime, CpuPath path, const Limbs& a, const Limbs& transformed, Source& source) {
    const Limb p = prime.value;
    const Limb psi = test::find_root(p, prime.degree);
    for (int sample = 0; sample < 8; ++sample) {
        const std::size_t j = sample < 2 ? static_cast<std::size_t>(sample) : source.limb() % prime.degree;
        const Limb x = power_vartime(psi, 2 * reverse_bits(j, prime.degree) + 1, p);
        Limb value = 0;
        for (std::size_t i = prime.degree; i-- > 0;) value = (multiply_vartime(value, x, p) + a[i]) % p;
        check(transformed[j] == value, named("a slot", prime, path));
    }
}

void test_transform(const Prime& prime, CpuPath path, Source& source) {
    const Kernels& kernels = ring::kernels_of(path);
    const Limb p = prime.value;
    const std::size_t degree = prime.degree;
    for (int round = 0; round < 3; ++round) {
        Limbs a = test::make_residues(source, degree, p);
        const Limbs b = test::make_residues(source, degree, p);
        if (round == 1) std::fill(a.begin(), a.end(), p - 1);
        Limbs ta = a;
        Limbs tb = b;
        kernels.transform(ta.data(), prime);
        kernels.transform(tb.data(), prime);
        check(std::all_of(ta.begin(), ta.end(), [&](Limb x) { return x < p; }),
              named("canonical", prime, path));
        if (round == 0) test_slots(prime, path, a, ta, source);
        Limbs back = ta;
        kernels.invert_transform(back.data(), prime);
        check(back == a, named("there and back", prime, path));
        Limbs product(degree);
        kernels.multiply(product.data(), ta.data(), tb.data(), degree, prime);
        kernels.invert_transform(product.data(), prime);
        for (int sample = 0; sample < 8; ++sample) {
            const std::size_t n = sample == 0 ? 0 : sample == 1 ? degree - 1 : source.limb() % degree;
            check(product[n] == coefficient(a, b, n, p), named("a product", prime, path));
        }
        Limbs quotients(degree);
        kernels.find_quotients(quotients.data(), tb.data(), degree, prime);
        kernels.invert_product(ta.data(), tb.data(), quotients.data(), prime);
        check(ta == product, named("a product by factors", prime, path));
    }
}

void test_slot_operations(const Prime& prime, CpuPath path, Source& source) {
    const Kernels& kernels = ring::kernels_of(path);
    const Limb p = prime.value;
    const std::size_t count = prime.degree;
    const Limbs a = test::make_residues(source, count, p);
    const Limbs b = test::make_residues(source, count, p);
    Limbs sum(count), difference(count), product(count), quotients(count);
    kernels.add(sum.data(), a.data(), b.data(), count, prime);
    kernels.subtract(difference.data(), a.data(), b.data(), count, prime);
    kernels.multiply(product.data(), a.data(), b.data(), count, prime);
    kernels.find_quotients(quotients.data(), a.data(), count, prime);
    bool holds = true;
    for (std::size_t i = 0; i < count; ++i) {
        holds = holds && sum[i] == (a[i] + b[i]) % p && difference[i] == (a[i] + p - b[i]) % p &&
                product[i] == multiply_vartime(a[i], b[i], p) && quotients[i] == prime.factor(a[i]).quotient;
    }
    check(holds, named("slot by slot", prime, path));
    Limbs in_place = a;
    kernels.multiply(in_place.data(), in_place.data(), in_place.data(), count, prime);
    kernels.multiply(product.data(), a.data(), a.data(), count, prime);
    check(in_place == product, named("squares in place", prime, path));
}

// Integers as residues, and transforms of what has few coefficients, against whole ones.
void test_few_coefficients(const Prime& prime, CpuPath path, Source& source) {
    const Kernels& kernels = ring::kernels_of(path);
    const Limb p = prime.value;
    std::vector<std::int64_t> integers(prime.degree);
    for (std::int64_t& x : integers) x = static_cast<std::int64_t>(source.limb());
    integers[0] = std::numeric_limits<std::int64_t>::min();
    integers[1] = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 2; i < 10; ++i) {
        integers[i] =
            static_cast<std::int64_t>(~Limb{0} / 2 / p * p * (i % 2)) + static_cast<std::int64_t>(i) - 6;
    }
    Limbs residues(prime.degree);
    kernels.take_residues(residues.data(), integers.data(), prime.degree, prime);
    bool holds = true;
    for (std::size_t i = 0; i < prime.degree; ++i) {
        const std::int64_t rest = integers[i] % static_cast<std::int64_t>(p);
        holds =
            holds && residues[i] == static_cast<Limb>(rest < 0 ? rest + static_cast<std::int64_t>(p) : rest);
    }
    check(holds, named("integers", prime, path));
    const Limb dropped = p == 40961 ? 12289 : 40961;
    const Limbs last = test::make_residues(source, prime.degree, dropped);
    const Limb inverse = ring::inverse_vartime(dropped, p);
    Limbs quotients(prime.degree);
    kernels.drop_prime(quotients.data(), residues.data(), last.data(), prime.degree, dropped,
                       prime.factor(inverse), prime);
    for (std::size_t i = 0; i < prime.degree; ++i) {
        const Limb shifted = (last[i] + dropped / 2) % dropped;
        const Limb rest = (residues[i] + dropped / 2 + 4 * p - shifted % p) % p;
        holds = holds && quotients[i] == multiply_vartime(rest, inverse, p);
    }
    check(holds, named("numbers over a prime", prime, path));
    for (std::size_t first = ring::kLeastFirst; first <= prime.degree; first *= 2) {
        Limbs whole(prime.degree);
        std::copy_n(residues.begin(), first, whole.begin());
        Limbs few = residues;
        kernels.transform(whole.data(), prime);
        kernels.transform_first(few.data(), first, prime);
        check(few == whole, named("few coefficients", prime, path));
    }
}

// Batches over the threads, an operand of one element standing for all.
void test_batches(CpuPath path, Source& source) {
    constexpr std::size_t kCount = 37;
    const std::size_t degree = 1024;
    const std::vector<Limb> primes{test::find_prime((Limb{1} << 50) - 1, degree, false), 12289};
    const ring::Ring ring(degree, primes,
                          {test::find_root(primes[0], degree), test::find_root(primes[1], degree)}, path);
    ThreadPool pool(3, [] { return true; });
    Limbs a, b;
    for (std::size_t row = 0; row < 2 * kCount; ++row) {
        const Limbs residues = test::make_residues(source, degree, primes[row % 2]);
        a.insert(a.end(), residues.begin(), residues.end());
        if (row < 2) b.insert(b.end(), residues.rbegin(), residues.rend());
    }
    Limbs z(a.size()), back(a.size()), expected(a.size());
    ring.transform(pool, z.data(), a.data(), kCount);
    ring.invert_transform(pool, back.data(), z.data(), kCount);
    check(back == a, "a batch there and back");
    ring.add(pool, z.data(), {a.data(), false}, {b.data(), true}, kCount);
    ring.subtract(pool, back.data(), {z.data(), false}, {b.data(), true}, kCount);
    check(back == a && z != a, "an element added to all and taken away");
    ring.multiply(pool, z.data(), {b.data(), true}, {a.data(), false}, kCount);
    for (std::size_t i = 0; i < a.size(); ++i) {
        expected[i] = multiply_vartime(a[i], b[i % b.size()], primes[i / degree % 2]);
    }
    check(z == expected, "a batch of products");
}

}  // namespace

int main() {
    Source source(11);
    for (const CpuPath path : test::ring_paths()) {
        for (const std::size_t degree : kDegrees) {
            for (const Limb p : test::end_primes(degree)) {
                const Prime prime = test::make_prime(p, degree, path);
                test_transform(prime, path, source);
                test_slot_operations(prime, path, source);
                test_few_coefficients(prime, path, source);
            }
        }
        test_batches(path, source);
    }
    return test::verdict();
}
