// Batches on one thread and on several give the same limbs, for sizes around every cut, and refuse the right
// index.
#include <memory>
#include <numeric>

#include "batch/integers.hpp"
#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "bigint/integer.hpp"
#include "bigint/montgomery.hpp"
#include "bigint/montgomery_pairs.hpp"
#include "check.hpp"

namespace {

using namespace hekat;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

bool always() { return true; }

struct Pools {
    ThreadPool one{1, always};
    ThreadPool many{4, always};
};

// The same work on both pools into buffers of equal size: equal results.
template <typename Work>
Limbs same_on_both(Pools& pools, std::size_t limbs, const std::string& what, const Work& work) {
    Limbs single(limbs, 1);
    Limbs parallel(limbs, 2);
    work(pools.one, single.data());
    work(pools.many, parallel.data());
    check(single == parallel, what + " on one thread and on four");
    return single;
}

// Residues below n: the product with a power of two less, so the top limb stays small.
Limbs residues_below(const ResidueRing& modulus, std::size_t count, Source& source) {
    const std::size_t limbs = modulus.limb_count();
    Limbs x = source.limbs(count * limbs);
    for (std::size_t i = 0; i < count; ++i) x[(i + 1) * limbs - 1] %= modulus.modulus()[limbs - 1];
    return x;
}

// The same in the ring's own form.
Limbs residues_at_rest(Pools& pools, const ResidueRing& modulus, std::size_t count, Source& source) {
    const Limbs values = residues_below(modulus, count, source);
    Limbs x(values.size());
    check(!load_residues(pools.one, modulus, x.data(), values.data(), modulus.limb_count(), count),
          "every value is below");
    return x;
}

Limbs one_at_rest(const ResidueRing& modulus) {
    Limbs one(modulus.limb_count());
    modulus.narrow(one.data(), modulus.one());
    return one;
}

void test_elementwise(Pools& pools, const ResidueRing& modulus, std::size_t count, Source& source) {
    const std::size_t limbs = modulus.limb_count();
    const Limbs values = residues_below(modulus, count, source);
    const Limbs x = same_on_both(pools, count * limbs, "load_residues", [&](ThreadPool& pool, Limb* z) {
        check(!load_residues(pool, modulus, z, values.data(), limbs, count), "every value is below");
    });
    const Limbs back = same_on_both(pools, count * limbs, "store_residues", [&](ThreadPool& pool, Limb* z) {
        store_residues(pool, modulus, z, x.data(), count);
    });
    check(back == values, "store_residues gives what load_residues took");
    const Limbs reduced = same_on_both(
        pools, count * limbs, "reduce_residues",
        [&](ThreadPool& pool, Limb* z) { reduce_residues(pool, modulus, z, values.data(), limbs, count); });
    check(reduced == x, "reduce_residues agrees with load_residues");
    const Items all{x.data(), limbs, false};
    const Items first{x.data(), limbs, true};
    same_on_both(pools, count * limbs, "multiply_residues",
                 [&](ThreadPool& pool, Limb* z) { multiply_residues(pool, modulus, z, all, first, count); });
    const Limbs exponents = source.limbs(2 * count);
    Limbs powers[2];
    for (const bool vartime : {false, true}) {
        powers[vartime] =
            same_on_both(pools, count * limbs, "raise_residues", [&](ThreadPool& pool, Limb* z) {
                raise_residues(pool, modulus, z, all, {exponents.data(), 2, false}, count, vartime);
            });
    }
    check(powers[0] == powers[1], "constant and variable time agree");
}

void test_products(Pools& pools, const ResidueRing& modulus, std::size_t count, Source& source) {
    const std::size_t limbs = modulus.limb_count();
    const Limbs x = residues_at_rest(pools, modulus, count, source);
    std::vector<std::int64_t> members(count);
    std::iota(members.begin(), members.end(), 0);
    const auto last = static_cast<std::int64_t>(count);
    const std::vector<std::int64_t> offsets{0, 0, last / 3, last, last};
    const Limbs lines = same_on_both(pools, 4 * limbs, "multiply_lines", [&](ThreadPool& pool, Limb* z) {
        multiply_lines(pool, modulus, z, x.data(), members.data(), offsets.data(), 4);
    });
    const Limbs one = one_at_rest(modulus);
    check(std::equal(one.begin(), one.end(), lines.begin()), "an empty line is one");

    constexpr std::size_t kResults = 3;
    const Limbs exponents = source.limbs(count * kResults);
    const Limbs products =
        same_on_both(pools, kResults * limbs, "multiply_powers", [&](ThreadPool& pool, Limb* z) {
            const auto refused =
                multiply_powers(pool, modulus, z, x.data(), exponents.data(), 1, nullptr, count, kResults);
            check(!refused, "no base needs an inverse");
        });
    // The first result again, power by power.
    Limbs first_exponents(count);
    for (std::size_t i = 0; i < count; ++i) first_exponents[i] = exponents[i * kResults];
    Limbs powers(count * limbs);
    raise_residues(pools.one, modulus, powers.data(), {x.data(), limbs, false},
                   {first_exponents.data(), 1, false}, count, true);
    Limbs product(limbs);
    const std::int64_t whole[2] = {0, last};
    multiply_lines(pools.one, modulus, product.data(), powers.data(), members.data(), whole, 1);
    check(std::equal(product.begin(), product.end(), products.begin()),
          "multiply_powers agrees with single powers");
}

void test_inversion(Pools& pools, const ResidueRing& modulus, std::size_t count, Source& source) {
    const std::size_t limbs = modulus.limb_count();
    Limbs x(count * limbs, 0);  // 2^k has an inverse mod every odd n
    for (std::size_t i = 0; i < count; ++i) x[i * limbs] = Limb{1} << (i % 60);
    Limbs loaded(x.size());
    reduce_residues(pools.one, modulus, loaded.data(), x.data(), limbs, count);
    const Limbs inverse =
        same_on_both(pools, count * limbs, "invert_residues", [&](ThreadPool& pool, Limb* z) {
            check(!invert_residues(pool, modulus, z, loaded.data(), count), "every residue has an inverse");
        });
    Limbs product(x.size());
    multiply_residues(pools.one, modulus, product.data(), {inverse.data(), limbs, false},
                      {loaded.data(), limbs, false}, count);
    const Limbs one = one_at_rest(modulus);
    for (std::size_t i = 0; i < count; ++i) {
        check(std::equal(one.begin(), one.end(), product.data() + i * limbs), "x times its inverse is 1");
    }
    if (count == 0) return;
    const std::size_t zero = source.limb() % count;
    std::fill_n(loaded.begin() + static_cast<std::ptrdiff_t>(zero * limbs), limbs, 0);
    check(invert_residues(pools.many, modulus, product.data(), loaded.data(), count) == zero,
          "the zero is named");
}

void test_fixed_base(Pools& pools, const ResidueRing& modulus, std::size_t count, Source& source) {
    const std::size_t limbs = modulus.limb_count();
    const FixedBaseShape shape{100, 5};
    const Limbs base = residues_below(modulus, 1, source);
    const Limbs table = same_on_both(
        pools, shape.positions() * shape.entry_count() * limbs, "fixed-base table",
        [&](ThreadPool& pool, Limb* z) { build_fixed_base_table(pool, modulus, shape, z, base.data()); });
    Limbs exponents = source.limbs(2 * count);
    for (std::size_t i = 0; i < count; ++i) exponents[2 * i + 1] &= (Limb{1} << 36) - 1;
    const Limbs fixed =
        same_on_both(pools, count * limbs, "raise_fixed_base", [&](ThreadPool& pool, Limb* z) {
            check(!raise_fixed_base(pool, modulus, shape, z, table.data(), exponents.data(), 2, count),
                  "all fit");
        });
    Limbs loaded(limbs);
    Limbs plain(count * limbs);
    check(!load_residues(pools.one, modulus, loaded.data(), base.data(), limbs, 1), "the base is below");
    raise_residues(pools.one, modulus, plain.data(), {loaded.data(), limbs, true},
                   {exponents.data(), 2, false}, count, true);
    check(fixed == plain, "the table's powers agree with single ones");
    if (count == 0) return;
    exponents[2 * (count - 1) + 1] |= Limb{1} << 36;
    check(raise_fixed_base(pools.one, modulus, shape, plain.data(), table.data(), exponents.data(), 2,
                           count) == count - 1,
          "an exponent of 101 bits is named");
}

void test_ring(Pools& pools, const ResidueRing& modulus, Source& source) {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 130U}) {
        test_elementwise(pools, modulus, count, source);
        test_products(pools, modulus, count, source);
        test_inversion(pools, modulus, count, source);
        test_fixed_base(pools, modulus, count, source);
    }
}

void test_integers(Pools& pools, std::size_t a_limbs, std::size_t b_limbs, std::size_t count,
                   Source& source) {
    const Limbs a = source.limbs(a_limbs * count);
    Limbs b = source.limbs(b_limbs * count);
    for (std::size_t i = 0; i < count; ++i) b[i * b_limbs] |= 1;
    const Items left{a.data(), a_limbs, false};
    const Items right{b.data(), b_limbs, false};
    const std::size_t most = std::max(a_limbs, b_limbs);
    same_on_both(pools, count * (most + 1), "add_integers",
                 [&](ThreadPool& pool, Limb* z) { add_integers(pool, z, left, right, count); });
    const auto below = std::make_unique<bool[]>(count);
    same_on_both(pools, count * most, "subtract_integers", [&](ThreadPool& pool, Limb* z) {
        subtract_integers(pool, z, below.get(), left, right, count);
    });
    // a = q b + r, put together again.
    Limbs quotient(count * a_limbs);
    Limbs remainder(count * b_limbs);
    divide_integers(pools.many, quotient.data(), remainder.data(), left, right, count);
    const Limbs product =
        same_on_both(pools, count * (a_limbs + b_limbs), "multiply_integers", [&](ThreadPool& pool, Limb* z) {
            multiply_integers(pool, tile_kernels(fastest_path()), z, {quotient.data(), a_limbs, false}, right,
                              count);
        });
    Limbs sum(count * (a_limbs + b_limbs + 1));
    add_integers(pools.one, sum.data(), {product.data(), a_limbs + b_limbs, false},
                 {remainder.data(), b_limbs, false}, count);
    for (std::size_t i = 0; i < count; ++i) {
        Limbs again(sum.begin() + static_cast<std::ptrdiff_t>(i * (a_limbs + b_limbs + 1)),
                    sum.begin() + static_cast<std::ptrdiff_t>((i + 1) * (a_limbs + b_limbs + 1)));
        Limbs expected(a.begin() + static_cast<std::ptrdiff_t>(i * a_limbs),
                       a.begin() + static_cast<std::ptrdiff_t>((i + 1) * a_limbs));
        expected.resize(again.size(), 0);
        check(again == expected, "quotient times divisor plus remainder");
        check(is_below(&remainder[i * b_limbs], &b[i * b_limbs], b_limbs) == 1,
              "the remainder is below the divisor");
    }
}

}  // namespace

int main() {
    Source source(2);
    Pools pools;
    for (const TileKernels* kernels : hekat::test::all_kernels()) {
        for (const std::size_t limbs : {1U, 2U, 8U, 9U, 17U, 32U}) {
            Limbs n = source.limbs(limbs);
            n[0] |= 1;
            n[limbs - 1] |= Limb{1} << 62;
            test_ring(pools, Montgomery(n.data(), limbs, *kernels), source);
            if (limbs <= 17) test_ring(pools, MontgomeryPairs(n.data(), limbs, *kernels), source);
        }
    }
    for (const std::size_t a_limbs : {1U, 5U, 6U, 8U, 33U}) {
        for (const std::size_t b_limbs : {1U, 2U, 7U, 16U})
            test_integers(pools, a_limbs, b_limbs, 500, source);
    }
    return hekat::test::verdict();
}
