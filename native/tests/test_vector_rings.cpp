// The edges of the vector rings that canonical values never reach: halves and residues as large as their
// ranges allow, clean limbs of all ones, every number of limbs around the sizes of blocks.
#include <initializer_list>

#include "bigint/group.hpp"
#include "cpu/features.hpp"
#include "schoolbook.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include "bigint/vector_layout.hpp"
#include "bigint/vector_montgomery.hpp"
#include "bigint/vector_pairs.hpp"

namespace {

using namespace hekat;
using hekat::test::append;
using hekat::test::check;
using hekat::test::item;
using hekat::test::Limbs;
using hekat::test::Schoolbook;
using hekat::test::Source;
using vector::kLanes;

// A row of `words` 52-bit limbs of a number that fits.
Limbs row_of(const Limbs& value, std::size_t words) {
    Limbs row(words);
    vector::split_limbs(row.data(), words, value.data(), value.size());
    return row;
}

// a + b, one limb more than the longer.
Limbs sum(const Limbs& a, const Limbs& b) {
    Limbs x(std::max(a.size(), b.size()) + 1);
    Limbs y(x.size());
    std::copy(a.begin(), a.end(), x.begin());
    std::copy(b.begin(), b.end(), y.begin());
    add_limbs(x.data(), x.data(), y.data(), x.size());
    return x;
}

Limbs difference(const Limbs& a, Limb b) {
    Limbs x = a;
    Limbs y(a.size());
    y[0] = b;
    subtract_limbs(x.data(), x.data(), y.data(), x.size());
    return x;
}

// Numbers up to 2 n - 1: zero, one, around n, the largest, and some between.
std::vector<Limbs> up_to_twice(const Limbs& n, Source& source) {
    const Limbs twice = sum(n, n);
    Limbs wide_n = n;
    wide_n.push_back(0);
    const Schoolbook book(n);
    Limbs random = sum(n, book.reduce(source.limbs(n.size() + 1)));
    Limbs zero(n.size() + 1);
    Limbs one = zero;
    one[0] = 1;
    return {difference(twice, 1), wide_n, difference(wide_n, 1), sum(n, {1}), zero, one, random,
            difference(twice, 2)};
}

// The value of a product of eight rows by eight rows, and of the squares of the first, one lane for each.
struct Products {
    Limbs products;
    Limbs squares;
};

Products multiply(const ResidueRing& ring, const Limbs& a, const Limbs& b) {
    Limbs x(ring.width());
    Limbs y(ring.width());
    Limbs z(ring.width());
    Limbs scratch(ring.scratch_count());
    ring.gather(x.data(), reads_of(a.data(), ring.row_limbs(), kLanes, kLanes).data());
    ring.gather(y.data(), reads_of(b.data(), ring.row_limbs(), kLanes, kLanes).data());
    Products found{Limbs(kLanes * ring.limb_count()), Limbs(kLanes * ring.limb_count())};
    ring.multiply(z.data(), x.data(), y.data(), scratch.data());
    ring.leave(writes_of(found.products.data(), ring.limb_count(), kLanes, kLanes).data(), z.data(),
               scratch.data());
    ring.square(z.data(), x.data(), scratch.data());
    ring.leave(writes_of(found.squares.data(), ring.limb_count(), kLanes, kLanes).data(), z.data(),
               scratch.data());
    return found;
}

// The canonical values of eight rows.
Limbs values_of(const ResidueRing& ring, const Limbs& rows) {
    Limbs x(ring.width());
    Limbs scratch(ring.scratch_count());
    Limbs values(kLanes * ring.limb_count());
    ring.gather(x.data(), reads_of(rows.data(), ring.row_limbs(), kLanes, kLanes).data());
    ring.leave(writes_of(values.data(), ring.limb_count(), kLanes, kLanes).data(), x.data(), scratch.data());
    return values;
}

// Products of rows at the edge of the range are the products of the values these rows have.
void check_products(const ResidueRing& ring, const Schoolbook& book, const Limbs& a, const Limbs& b,
                    const std::string& where) {
    const std::size_t limbs = ring.limb_count();
    const Limbs a_values = values_of(ring, a);
    const Limbs b_values = values_of(ring, b);
    Limbs products;
    Limbs squares;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const Limbs x = item(a_values, limbs, lane);
        check(book.reduce(x) == x, "values are canonical " + where);
        append(products, book.multiply(x, item(b_values, limbs, lane)));
        append(squares, book.multiply(x, x));
    }
    const Products found = multiply(ring, a, b);
    check(found.products == products, "products " + where);
    check(found.squares == squares, "squares " + where);
}

void test_one_modulus(const Limbs& n, Source& source) {
    const VectorMontgomery ring(n.data(), n.size());
    const std::string where = "mod one number of " + std::to_string(ring.row_limbs()) + " limbs";
    const Schoolbook book(n);
    const auto edges = up_to_twice(n, source);
    // x R mod n and x R mod n + n are one residue: the values say so, not the ring itself.
    Limbs a;
    Limbs b;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        append(a, row_of(edges[lane], ring.row_limbs()));
        append(b, row_of(edges[(lane * 3 + 1) % kLanes], ring.row_limbs()));
    }
    check_products(ring, book, a, b, where);
    check_products(ring, book, a, a, where);
}

void test_pairs(const Limbs& n, Source& source) {
    Limbs square(2 * n.size());
    multiply_limbs(square.data(), n.data(), n.size(), n.data(), n.size());
    while (square.back() == 0) square.pop_back();
    const VectorPairs ring(n.data(), n.size(), square.size());
    const std::size_t half = ring.row_limbs() / 2;
    const std::string where = "of pairs of " + std::to_string(half) + " limbs";
    const Schoolbook book(square);
    const auto edges = up_to_twice(n, source);
    for (std::size_t shift = 0; shift < kLanes; ++shift) {
        Limbs a;
        Limbs b;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            append(a, row_of(edges[lane], half));
            append(a, row_of(edges[(lane + shift) % kLanes], half));
            append(b, row_of(edges[(lane * 3 + shift) % kLanes], half));
            append(b, row_of(edges[(lane * 5 + 2) % kLanes], half));
        }
        check_products(ring, book, a, b, where);
    }
    // A lower half of n or more counts: (u + n, v) and (u, v + 1) are one residue.
    Limbs with_carry;
    Limbs without;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const Limbs u = Schoolbook(n).reduce(source.limbs(n.size() + 1));
        const Limbs v = Schoolbook(n).reduce(source.limbs(n.size() + 1));
        append(with_carry, row_of(sum(u, n), half));
        append(with_carry, row_of(v, half));
        append(without, row_of(u, half));
        append(without, row_of(sum(v, {1}), half));
    }
    check(values_of(ring, with_carry) == values_of(ring, without), "the carry of a lower half " + where);
}

// What eight factors (x0, l) stand for: x0 / R times 1 + l n.
Limbs values_of_factors(const ResidueRing& ring, const Schoolbook& book, const Limbs& n, const Limbs& rows) {
    const std::size_t half = ring.row_limbs() / 2;
    const std::size_t limbs = ring.limb_count();
    Limbs first_halves = rows;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        std::fill_n(&first_halves[lane * 2 * half + half], half, 0);
    }
    const Limbs values = values_of(ring, first_halves);
    Limbs results;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        Limbs l((52 * half + kLimbBits - 1) / kLimbBits);
        vector::join_limbs(l.data(), l.size(), &rows[lane * 2 * half + half], half);
        append(results, book.multiply(item(values, limbs, lane), book.reduce(sum(test::product(l, n), {1}))));
    }
    return results;
}

// A product of `count` factors at the edges of their ranges, settled whenever it has to be and at last.
void test_factors(const Limbs& n, std::size_t count, Source& source) {
    Limbs square = test::product(n, n);
    while (square.back() == 0) square.pop_back();
    const VectorPairs ring(n.data(), n.size(), square.size());
    const Factors& factors = *ring.factors();
    const Schoolbook book(square);
    const std::size_t half = ring.row_limbs() / 2;
    const auto edges = up_to_twice(n, source);
    Limbs product(ring.width());
    Limbs sums(factors.sum_words());
    Limbs factor(ring.width());
    Limbs scratch(ring.scratch_count());
    Limbs expected;
    std::size_t settled = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Limbs rows;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            // The lanes of the largest numbers keep to them; others change. None is zero after the first few.
            append(rows, row_of(edges[lane < 2 || i < 3 ? lane : (lane + i) % 3], half));
            append(rows, row_of(edges[lane < 2 ? lane : (lane * 3 + i) % kLanes], half));
        }
        const Limbs values = values_of_factors(ring, book, n, rows);
        ring.gather(factor.data(), reads_of(rows.data(), ring.row_limbs(), kLanes, kLanes).data());
        if (i == 0) {
            factors.begin(product.data(), sums.data(), factor.data());
            expected = values;
        } else {
            factors.multiply(product.data(), sums.data(), factor.data(), scratch.data(), Fetch());
            Limbs next;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                append(next, book.multiply(item(expected, ring.limb_count(), lane),
                                           item(values, ring.limb_count(), lane)));
            }
            expected = next;
        }
        if ((i + 1) % factors.most_factors() == 0 || i + 1 == count) {
            factors.settle(product.data(), sums.data(), scratch.data());
            ++settled;
        }
    }
    Limbs found(kLanes * ring.limb_count());
    ring.leave(writes_of(found.data(), ring.limb_count(), kLanes, kLanes).data(), product.data(),
               scratch.data());
    check(found == expected, "a product of " + std::to_string(count) + " factors of " + std::to_string(half) +
                                 " limbs, settled " + std::to_string(settled) + " times");
}

}  // namespace

int main() {
    if (!can_take(CpuPath::kIfma)) {
        std::printf("0 checks: skipped, this processor lacks AVX-512 IFMA\n");
        return 0;
    }
    Source source(20261121);
    std::vector<std::size_t> sizes;
    for (std::size_t bits = 2; bits <= 130; ++bits) sizes.push_back(bits);
    for (std::size_t limbs = 3; limbs <= 42; ++limbs) {
        // Around every boundary of 52 bits, with as little room above the modulus as the rings take.
        for (const std::size_t bits :
             {52 * limbs - 5, 52 * limbs - 4, 52 * limbs - 3, 52 * limbs - 2, 52 * limbs - 1})
            sizes.push_back(bits);
    }
    for (const std::size_t bits : {3072U, 4096U, 8192U}) sizes.push_back(bits);
    for (const std::size_t bits : sizes) {
        // All ones; and the least number of this size, with its lowest bit.
        Limbs ones((bits + kLimbBits - 1) / kLimbBits, ~Limb{0});
        if (bits % kLimbBits != 0) ones.back() >>= kLimbBits - bits % kLimbBits;
        Limbs least(ones.size());
        least[0] = 1;
        least.back() |= Limb{1} << ((bits - 1) % kLimbBits);
        for (const Limbs& n : {ones, least}) {
            test_one_modulus(n, source);
            test_pairs(n, source);
            test_factors(n, 20, source);
        }
    }
    // As many factors as words hold limbs of all ones, and one more.
    Limbs ones(4, ~Limb{0});
    ones.back() >>= 4 * kLimbBits - (4 * 52 - 14);
    for (const std::size_t count : {4095U, 4096U, 4097U}) test_factors(ones, count, source);
    return hekat::test::verdict();
}

#else

int main() {
    std::printf("0 checks: skipped, not an x86-64 build\n");
    return 0;
}

#endif
