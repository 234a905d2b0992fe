// Pairs modulo n^2 against plain integers where n is small, and against n^2 taken as any modulus; u >= n is
// forced.
#include "bigint/integer.hpp"
#include "bigint/montgomery_pairs.hpp"
#include "check.hpp"
#include "schoolbook.hpp"

namespace {

using namespace hekat;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

// n with scratch, for pairs and for n^2 as any modulus.
class Both {
  public:
    Both(const Limbs& n, const TileKernels& kernels)
        : n_(n),
          pairs_(n.data(), n.size(), kernels),
          square_(square_of(n)),
          flat_(square_.data(), square_.size(), kernels),
          base_(n.data(), n.size(), kernels),
          scratch_(pairs_.scratch_count() + flat_.scratch_count()) {}

    const MontgomeryPairs& pairs() const { return pairs_; }
    Limb* scratch() { return scratch_.data(); }
    std::size_t half() const { return pairs_.width() / 2; }

    // Values have limb_count() limbs.
    Limbs value_of(const Limbs& pair) {
        Limbs z(pairs_.limb_count());
        Limb* to = z.data();
        pairs_.leave(&to, pair.data(), scratch());
        check(is_below(z.data(), pairs_.modulus(), z.size()) == 1, "leave gives values below n^2");
        return z;
    }

    Limbs pair_of(const Limbs& value) {
        Limbs z(pairs_.width());
        const Limb* from = value.data();
        pairs_.enter(z.data(), &from, value.size(), scratch());
        return z;
    }

    // a b mod n^2 of values, by n^2 as any modulus.
    Limbs product(const Limbs& a, const Limbs& b) {
        Limbs x(flat_.width());
        Limbs y(flat_.width());
        Limbs z(flat_.limb_count());
        const Limb* values[2] = {a.data(), b.data()};
        flat_.enter(x.data(), &values[0], a.size(), scratch());
        flat_.enter(y.data(), &values[1], b.size(), scratch());
        flat_.multiply(x.data(), x.data(), y.data(), scratch());
        Limb* to = z.data();
        flat_.leave(&to, x.data(), scratch());
        return z;
    }

    // Both halves below n: what every routine promises.
    void check_range(const Limbs& pair) {
        for (std::size_t i = 0; i < 2; ++i) {
            check(is_below(pair.data() + i * half(), base_.modulus(), half()) == 1, "halves are below n");
        }
    }

    // Whether the lower half's quotient u reaches n in the product of a and b, with the radix as it is.
    bool reaches_n(const Limbs& a, const Limbs& b) {
        Limbs t(2 * half());
        Limbs m(half());
        multiply_limbs(t.data(), a.data(), half(), b.data(), half());
        const Limb high = base_.reduce(t.data(), m.data(), 0);
        return high == 1 || is_below(t.data() + half(), base_.modulus(), half()) == 0;
    }

    // z = a * b and a * a on pairs, in place and apart, against the flat product.
    void check_product(const Limbs& a, const Limbs& b) {
        Limbs z(pairs_.width());
        pairs_.multiply(z.data(), a.data(), b.data(), scratch());
        check_range(z);
        check(value_of(z) == product(value_of(a), value_of(b)), "multiply");
        Limbs same = a;
        pairs_.multiply(same.data(), same.data(), b.data(), scratch());
        check(same == z, "multiply in place of the left");
        same = b;
        pairs_.multiply(same.data(), a.data(), same.data(), scratch());
        check(same == z, "multiply in place of the right");
    }

    void check_square(const Limbs& a) {
        Limbs z(pairs_.width());
        pairs_.multiply(z.data(), a.data(), a.data(), scratch());
        Limbs squared(pairs_.width());
        pairs_.square(squared.data(), a.data(), scratch());
        check(squared == z, "square is the product with itself");
        squared = a;
        pairs_.square(squared.data(), squared.data(), scratch());
        check(squared == z, "square in place");
    }

    void check_inverse(const Limbs& a, bool expected) {
        Limbs row(pairs_.row_limbs());
        pairs_.narrow(row.data(), a.data());
        const bool found = pairs_.invert(row.data(), row.data());
        check(found == expected, "invert finds the units");
        if (!found) return;
        Limbs z(pairs_.width());
        pairs_.widen(z.data(), row.data());
        check_range(z);
        pairs_.multiply(z.data(), z.data(), a.data(), scratch());
        check(std::equal(z.begin(), z.end(), pairs_.one()), "x times its inverse is one");
    }

  private:
    static Limbs square_of(const Limbs& n) {
        Limbs z(2 * n.size());
        multiply_limbs(z.data(), n.data(), n.size(), n.data(), n.size());
        return z;
    }

    Limbs n_;
    MontgomeryPairs pairs_;
    Limbs square_;
    Montgomery flat_;
    Montgomery base_;
    Limbs scratch_;
};

bool has_inverse(Limb x, Limb n) {
    while (x != 0) {
        const Limb rest = n % x;
        n = x;
        x = rest;
    }
    return n == 1;
}

// All values mod n^2 with all others, against 64-bit arithmetic. A composite n has products of lower halves
// that n divides: these make u = n although n is far below the radix.
void test_small(const TileKernels& kernels, Limb n) {
    Both both({n}, kernels);
    const Limb square = n * n;
    std::vector<Limbs> residues;
    for (Limb x = 0; x < square; ++x) {
        Limbs value(both.pairs().limb_count(), 0);
        value[0] = x;
        residues.push_back(both.pair_of(value));
        check(both.value_of(residues.back()) == value, "enter and leave");
        both.check_range(residues.back());
        both.check_square(residues.back());
        both.check_inverse(residues.back(), has_inverse(x % n, n));
    }
    bool reached = false;
    Limbs z(both.pairs().width());
    for (Limb x = 0; x < square; ++x) {
        for (Limb y = 0; y < square; ++y) {
            both.pairs().multiply(z.data(), residues[x].data(), residues[y].data(), both.scratch());
            Limbs expected(both.pairs().limb_count(), 0);
            expected[0] = x * y % square;
            check(both.value_of(z) == expected, "product mod " + std::to_string(square));
            reached = reached || both.reaches_n(residues[x], residues[y]);
        }
    }
    const bool is_composite = n == 9 || n == 15 || n == 21;
    check(reached == is_composite, "u reaches n for zero divisors and for nothing else");
}

// Halves that carry, in every combination.
void test_edges(const TileKernels& kernels, const Limbs& n, bool is_near_radix, Source& source) {
    Both both(n, kernels);
    const std::size_t half = both.half();
    std::vector<Limbs> halves(7, Limbs(half, 0));
    halves[1][0] = 1;
    for (std::size_t i = 2; i < halves.size(); ++i) std::copy(n.begin(), n.end(), halves[i].begin());
    halves[2][0] -= 1;  // n - 1; the lowest limb of n is above 3
    halves[3][0] -= 3;
    for (std::size_t i = 0; i < n.size(); ++i) {  // n / 2, and two below n that are near it or far
        halves[4][i] = (n[i] >> 1) | (i + 1 < n.size() ? n[i + 1] << 63 : 0);
        halves[5][i] &= source.limb();
        halves[6][i] &= source.limb();
    }
    halves[5][0] &= ~Limb{1};
    halves[6][0] &= ~Limb{1};
    std::vector<Limbs> residues;
    for (const Limbs& lower : halves) {
        for (const Limbs& upper : halves) {
            residues.push_back(lower);
            residues.back().insert(residues.back().end(), upper.begin(), upper.end());
            both.check_range(residues.back());
            both.check_square(residues.back());
            check(both.pair_of(both.value_of(residues.back())) == residues.back(), "leave and enter");
        }
    }
    bool reached = false;
    for (const Limbs& a : residues) {
        for (const Limbs& b : residues) {
            both.check_product(a, b);
            reached = reached || both.reaches_n(a, b);
        }
    }
    if (is_near_radix) check(reached, "u reaches n");
}

// x of every size, against long division.
void test_enter(const TileKernels& kernels, const Limbs& n, Source& source) {
    Both both(n, kernels);
    const std::size_t limb_count = both.pairs().limb_count();
    const hekat::test::Schoolbook expected({both.pairs().modulus(), both.pairs().modulus() + limb_count});
    for (std::size_t limbs = 1; limbs <= 2 * limb_count; ++limbs) {
        for (const Limbs& x : {Limbs(limbs, ~Limb{0}), source.limbs(limbs)}) {
            const Limbs pair = both.pair_of(x);
            both.check_range(pair);
            check(both.value_of(pair) == expected.reduce(x), "enter");
        }
    }
}

void test_at_rest(const TileKernels& kernels, const Limbs& n, Source& source) {
    const MontgomeryPairs pairs(n.data(), n.size(), kernels);
    const Limbs packed = source.limbs(pairs.row_limbs());
    Limbs wide(pairs.width(), 1);
    Limbs again(pairs.row_limbs());
    pairs.widen(wide.data(), packed.data());
    pairs.narrow(again.data(), wide.data());
    check(again == packed, "widen and narrow");
}

}  // namespace

int main() {
    Source source(3);
    check(MontgomeryPairs::serve(64, 32) && MontgomeryPairs::serve(32, 16) && MontgomeryPairs::serve(96, 48),
          "pairs serve keys of 2048 and 3072 bits");
    check(!MontgomeryPairs::serve(2, 1) && !MontgomeryPairs::serve(63, 32),
          "pairs serve no small or odd sizes");
    for (const TileKernels* kernels : hekat::test::all_kernels()) {
        for (const Limb n : {3U, 5U, 7U, 9U, 15U, 21U}) test_small(*kernels, n);
        for (const std::size_t limbs : {1U, 2U, 7U, 8U, 9U, 16U, 24U, 32U}) {
            const bool is_whole = limbs % kTileLimbs == 0;
            Limbs below(limbs, ~Limb{0});  // 2^(64 limbs) - 1, and a little less
            Limbs less = below;
            less[0] -= 568;
            Limbs above(limbs, 0);  // half the radix and a little more
            above[0] = 7;
            above[limbs - 1] |= Limb{1} << 63;
            Limbs any = source.limbs(limbs);
            any[0] |= 5;
            any[limbs - 1] |= Limb{1} << 40;
            for (const Limbs& n : {below, less}) test_edges(*kernels, n, is_whole, source);
            for (const Limbs& n : {above, any}) test_edges(*kernels, n, false, source);
            for (const Limbs& n : {below, less, above, any}) {
                test_enter(*kernels, n, source);
                test_at_rest(*kernels, n, source);
            }
        }
    }
    return hekat::test::verdict();
}
