// Batches on one thread and on several give the same, and what the long way gives, for sizes around every
// cut, and refuse the right index.
#include <memory>
#include <numeric>

#include "batch/integers.hpp"
#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "rings.hpp"

namespace {

using namespace hekat;
using hekat::test::append;
using hekat::test::check;
using hekat::test::item;
using hekat::test::kAmpleBytes;
using hekat::test::Limbs;
using hekat::test::Pools;
using hekat::test::RingCase;
using hekat::test::Source;

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

void test_in_and_out(Pools& pools, const RingCase& ring, std::size_t count, Source& source) {
    const Limbs values = ring.values(count, source);
    ring.expect(pools, "load_residues", count, values, [&](ThreadPool& pool, Limb* z) {
        check(!load_residues(pool, ring.ring, z, values.data(), ring.limbs(), count), "every value is below");
    });
    for (const std::size_t limbs : {std::size_t{1}, ring.limbs(), 2 * ring.limbs()}) {
        const Limbs wide = source.limbs(count * limbs);
        Limbs expected;
        for (std::size_t i = 0; i < count; ++i) append(expected, ring.book.reduce(item(wide, limbs, i)));
        ring.expect(pools, "reduce_residues", count, expected, [&](ThreadPool& pool, Limb* z) {
            reduce_residues(pool, ring.ring, z, wide.data(), limbs, count);
        });
    }
    if (count == 0) return;
    Limbs refused = values;
    const std::size_t least = source.limb() % count;
    for (const std::size_t at : {least, count - 1}) {
        std::copy_n(ring.ring.modulus(), ring.limbs(), refused.data() + at * ring.limbs());
    }
    Limbs z(count * ring.row());
    check(load_residues(pools.many, ring.ring, z.data(), refused.data(), ring.limbs(), count) == least,
          "the first value that is not below is named");
}

void test_products(Pools& pools, const RingCase& ring, std::size_t count, Source& source) {
    const Limbs a = ring.values(count, source);
    const Limbs b = ring.values(count, source);
    const Limbs x = ring.load(pools, a);
    const Limbs y = ring.load(pools, b);
    for (const bool is_one : {false, true}) {
        if (is_one && count == 0) continue;
        Limbs expected;
        for (std::size_t i = 0; i < count; ++i) {
            append(expected,
                   ring.book.multiply(item(a, ring.limbs(), i), item(b, ring.limbs(), is_one ? 0 : i)));
        }
        ring.expect(pools, "multiply_residues", count, expected, [&](ThreadPool& pool, Limb* z) {
            multiply_residues(pool, ring.ring, z, {x.data(), ring.row(), false},
                              {y.data(), ring.row(), is_one}, count);
        });
    }
}

void test_powers(Pools& pools, const RingCase& ring, std::size_t count, Source& source) {
    const Limbs a = ring.values(count, source);
    const Limbs x = ring.load(pools, a);
    for (const std::size_t limbs : {1U, 2U}) {
        Limbs exponents = source.limbs(limbs * count);
        if (count > 2) std::fill_n(exponents.begin(), limbs, 0);
        if (count > 2) exponents[limbs] = 1;
        for (const bool is_one : {false, true}) {
            if (is_one && count == 0) continue;
            Limbs expected;
            for (std::size_t i = 0; i < count; ++i) {
                append(expected,
                       ring.book.power(item(a, ring.limbs(), i), item(exponents, limbs, is_one ? 0 : i)));
            }
            for (const bool vartime : {false, true}) {
                ring.expect(pools, vartime ? "powers in variable time" : "powers", count, expected,
                            [&](ThreadPool& pool, Limb* z) {
                                raise_residues(pool, ring.ring, z, {x.data(), ring.row(), false},
                                               {exponents.data(), limbs, is_one}, count, vartime);
                            });
            }
        }
    }
}

void test_lines(Pools& pools, const RingCase& ring, std::size_t count, Source& source) {
    const Limbs a = ring.values(count, source);
    const Limbs x = ring.load(pools, a);
    // Every member once and some twice, on lines; some lines are empty and one is long.
    std::vector<std::int64_t> members(2 * count);
    std::vector<std::int64_t> offsets{0, 0};
    for (std::size_t i = 0; i < 2 * count; ++i) {
        members[i] = static_cast<std::int64_t>(i < count ? i : source.limb() % count);
        if (i < count / 2 && source.limb() % 3 == 0) offsets.push_back(static_cast<std::int64_t>(i));
    }
    offsets.push_back(static_cast<std::int64_t>(2 * count));
    offsets.push_back(static_cast<std::int64_t>(2 * count));
    const std::size_t line_count = offsets.size() - 1;
    Limbs expected;
    for (std::size_t line = 0; line < line_count; ++line) {
        Limbs product = ring.book.one();
        for (auto i = offsets[line]; i < offsets[line + 1]; ++i) {
            const auto member = static_cast<std::size_t>(members[static_cast<std::size_t>(i)]);
            product = ring.book.multiply(product, item(a, ring.limbs(), member));
        }
        append(expected, product);
    }
    ring.expect(pools, "multiply_lines", line_count, expected, [&](ThreadPool& pool, Limb* z) {
        multiply_lines(pool, ring.ring, z, x.data(), members.data(), offsets.data(), line_count);
    });
}

void test_inversion(Pools& pools, const RingCase& ring, std::size_t count, std::size_t scratch_bytes,
                    Source& source) {
    Limbs powers_of_two;  // these have inverses mod every odd n
    for (std::size_t i = 0; i < count; ++i) {
        Limbs x(ring.limbs(), 0);
        x[0] = Limb{1} << (i % 60);
        append(powers_of_two, ring.book.reduce(x));
    }
    Limbs x = ring.load(pools, powers_of_two);
    Limbs ones;
    for (std::size_t i = 0; i < count; ++i) append(ones, ring.book.one());
    ring.expect(pools, "invert_residues", count, ones, [&](ThreadPool& pool, Limb* z) {
        check(!invert_residues(pool, ring.ring, z, x.data(), count, scratch_bytes),
              "every residue has an inverse");
        const Limbs inverse(z, z + count * ring.row());
        multiply_residues(pool, ring.ring, z, {inverse.data(), ring.row(), false},
                          {x.data(), ring.row(), false}, count);
    });
    if (count == 0) return;
    const Limbs zero = ring.load(pools, Limbs(ring.limbs(), 0));
    const std::size_t first = source.limb() % count;
    for (const std::size_t at : {first, first + (count - first) / 2}) {
        std::copy(zero.begin(), zero.end(), x.begin() + static_cast<std::ptrdiff_t>(at * ring.row()));
    }
    Limbs z(x.size());
    for (ThreadPool* pool : {&pools.one, &pools.many}) {
        check(invert_residues(*pool, ring.ring, z.data(), x.data(), count, scratch_bytes) == first,
              "the first zero is named");
    }
}

bool has_inverse(const RingCase& ring, const Limbs& value) {
    ThreadPool pool(1, [] { return true; });
    Limbs x(ring.row());
    return !load_residues(pool, ring.ring, x.data(), value.data(), ring.limbs(), 1) &&
           !invert_residues(pool, ring.ring, x.data(), x.data(), 1, kAmpleBytes);
}

std::size_t factored_tables = 0;

void test_fixed_base(Pools& pools, const RingCase& ring, std::size_t count, Source& source) {
    constexpr std::size_t kBits = 100;
    const Limbs base = ring.values(1, source);
    Limbs exponents = source.limbs(2 * count);
    Limbs expected;
    for (std::size_t i = 0; i < count; ++i) {
        exponents[2 * i + 1] &= (Limb{1} << 36) - 1;
        append(expected, ring.book.power(base, item(exponents, 2, i)));
    }
    for (const unsigned form : {0U, 1U, 2U, 3U}) {
        const bool constant_time = form % 2 == 0;
        const FixedBaseShape shape{kBits, constant_time ? 5U : 6U, constant_time, form >= 2};
        if (shape.factored && ring.ring.factors() == nullptr) continue;
        bool is_built = true;
        const Limbs table = same_on_both(
            pools, shape.table_words(ring.ring), "fixed-base table", [&](ThreadPool& pool, Limb* z) {
                std::fill_n(z, shape.table_words(ring.ring), 0);
                is_built = build_fixed_base_table(pool, ring.ring, shape, z, base.data());
            });
        check(is_built == (!shape.factored || has_inverse(ring, base)), "factored where there is an inverse");
        if (!is_built) continue;
        if (shape.factored) ++factored_tables;
        const std::string what = constant_time ? "raise_fixed_base" : "raise_fixed_base, look-ups";
        ring.expect(pools, what, count, expected, [&](ThreadPool& pool, Limb* z) {
            check(!raise_fixed_base(pool, ring.ring, shape, z, table.data(), exponents.data(), 2, count),
                  "all fit");
        });
        if (count == 0) continue;
        Limbs wide = exponents;
        wide[2 * (count - 1) + 1] |= Limb{1} << 36;
        Limbs z(count * ring.row());
        check(raise_fixed_base(pools.one, ring.ring, shape, z.data(), table.data(), wide.data(), 2, count) ==
                  count - 1,
              "an exponent of 101 bits is named");
    }
}

void test_ring(Pools& pools, const RingCase& ring, Source& source) {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 17U, 100U}) {
        if (count == 100 && ring.limbs() > 2) continue;  // the long way takes too long
        test_in_and_out(pools, ring, count, source);
        test_products(pools, ring, count, source);
        test_powers(pools, ring, count, source);
        test_lines(pools, ring, count, source);
        for (const std::size_t scratch_bytes :
             {kAmpleBytes, 20 * ring.row() * sizeof(Limb), std::size_t{0}}) {
            test_inversion(pools, ring, count, scratch_bytes, source);
        }
        test_fixed_base(pools, ring, count, source);
    }
}

// Enough members for blocks of blocks.
void test_long_lines(Pools& pools, const RingCase& ring, Source& source) {
    for (const std::size_t count : {300U, 3000U}) test_lines(pools, ring, count, source);
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
    // a = q b + r, put together again, on every path.
    Limbs quotient(count * a_limbs);
    Limbs remainder(count * b_limbs);
    divide_integers(pools.many, quotient.data(), remainder.data(), left, right, count);
    const Items quotients{quotient.data(), a_limbs, false};
    Limbs product;
    for (const CpuPath path : kCpuPaths) {
        if (!can_take(path)) continue;
        const Limbs found = same_on_both(
            pools, count * (a_limbs + b_limbs), "multiply_integers",
            [&](ThreadPool& pool, Limb* z) { multiply_integers(pool, path, z, quotients, right, count); });
        check(product.empty() || found == product, "products on every path");
        product = found;
        const Items one{b.data(), b_limbs, true};
        Limbs by_one(count * (a_limbs + b_limbs));
        multiply_integers(pools.many, path, by_one.data(), quotients, one, count);
        check(item(by_one, a_limbs + b_limbs, count - 1) ==
                  hekat::test::product(item(quotient, a_limbs, count - 1), item(b, b_limbs, 0)),
              "a product by one integer for all");
    }
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
    hekat::test::for_rings(source, [&](const RingCase& ring) {
        test_ring(pools, ring, source);
        if (ring.limbs() == 1) test_long_lines(pools, ring, source);
    });
    for (const std::size_t a_limbs : {1U, 5U, 6U, 8U, 13U, 33U, 277U}) {
        for (const std::size_t b_limbs : {1U, 2U, 7U, 16U})
            test_integers(pools, a_limbs, b_limbs, 501, source);
    }
    check(factored_tables > 0 || !can_take(CpuPath::kIfma), "some tables were factored");
    return hekat::test::verdict();
}
