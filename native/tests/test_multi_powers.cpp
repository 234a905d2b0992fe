// Products of many powers by every method, dense and sparse, and the queue of products below them.
#include <memory>

#include "batch/multi_power_plan.hpp"
#include "batch/powers.hpp"
#include "bigint/product_queue.hpp"
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

// Bases that have inverses, exponents below 2^bits, signs for some of them.
struct Terms {
    Limbs values;
    Limbs inverses;  // canonical too
    Limbs rows;
    Limbs exponents;
    std::size_t exponent_limbs;
    std::unique_ptr<bool[]> negative;
    std::vector<std::int64_t> columns;
    std::vector<std::int64_t> offsets;
    std::size_t base_count;
    std::size_t result_count;

    Terms(Pools& pools, const RingCase& ring, std::size_t bases, std::size_t results, std::size_t bits,
          bool is_signed, bool is_sparse, Source& source)
        : exponent_limbs((bits + kLimbBits - 1) / kLimbBits), base_count(bases), result_count(results) {
        // Powers of two and of their inverse (n + 1) / 2.
        Limbs half(ring.limbs() + 1, 0);
        std::copy_n(ring.ring.modulus(), ring.limbs(), half.begin());
        add_limb(half.data(), 1, half.size());
        for (std::size_t i = 0; i < ring.limbs(); ++i) half[i] = half[i] >> 1 | half[i + 1] << 63;
        half.resize(ring.limbs());
        Limbs two(ring.limbs(), 0);
        two[0] = 2;
        for (std::size_t i = 0; i < bases; ++i) {
            const Limbs exponent{source.limb() % 1000};
            append(values, ring.book.power(two, exponent));
            append(inverses, ring.book.power(half, exponent));
        }
        rows = ring.load(pools, values);
        if (is_sparse) {
            offsets.push_back(0);
            for (std::size_t j = 0; j < results; ++j) {
                for (std::size_t k = bases == 0 ? 0 : source.limb() % 12; k > 0; --k) {
                    columns.push_back(static_cast<std::int64_t>(source.limb() % bases));
                }
                offsets.push_back(static_cast<std::int64_t>(columns.size()));
            }
        }
        const std::size_t count = is_sparse ? columns.size() : bases * results;
        exponents = source.limbs(count * exponent_limbs);
        for (std::size_t k = 0; k < count; ++k) {
            if (bits % kLimbBits != 0)
                exponents[(k + 1) * exponent_limbs - 1] &= (Limb{1} << (bits % kLimbBits)) - 1;
        }
        if (!is_signed) return;
        negative = std::make_unique<bool[]>(count);
        for (std::size_t k = 0; k < count; ++k) negative[k] = source.limb() % 2 == 1;
    }

    PowerTerms view() const {
        return {rows.data(),
                exponents.data(),
                exponent_limbs,
                negative.get(),
                offsets.empty() ? nullptr : columns.data(),
                offsets.empty() ? nullptr : offsets.data(),
                base_count,
                result_count};
    }

    Limbs expected(const RingCase& ring) const {
        const PowerTerms terms = view();
        Limbs z;
        for (std::size_t j = 0; j < result_count; ++j) {
            Limbs product = ring.book.one();
            for (std::size_t i = 0; i < terms.term_count(j); ++i) {
                const std::size_t k = terms.term(j, i);
                const Limbs& bases = terms.is_negative(k) ? inverses : values;
                product =
                    ring.book.multiply(product, ring.book.power(item(bases, ring.limbs(), terms.base(k, i)),
                                                                item(exponents, exponent_limbs, k)));
            }
            append(z, product);
        }
        return z;
    }
};

void test_terms(Pools& pools, const RingCase& ring, const Terms& terms, std::size_t scratch_bytes,
                const std::string& what) {
    const Limbs expected = terms.expected(ring);
    ring.expect(
        pools, "multiply_powers, " + what, terms.result_count, expected, [&](ThreadPool& pool, Limb* z) {
            check(!multiply_powers(pool, ring.ring, z, terms.view(), scratch_bytes), "no base is refused");
        });
    for (const bool by_tables : {true, false}) {
        for (const bool is_signed : {true, false}) {
            for (const unsigned window : {1U, 5U}) {
                const std::string how = std::string(by_tables ? ", tables" : ", buckets") +
                                        (is_signed ? ", signed, " : ", ") + std::to_string(window) + " bits";
                ring.expect(pools, what + how, terms.result_count, expected, [&](ThreadPool& pool, Limb* z) {
                    check(!multiply_powers_by(pool, ring.ring, z, terms.view(), scratch_bytes,
                                              {by_tables, is_signed, window}),
                          "no base is refused");
                });
            }
        }
    }
}

void test_shapes(Pools& pools, const RingCase& ring, std::size_t scratch_bytes, Source& source) {
    struct Shape {
        std::size_t bases;
        std::size_t results;
        std::size_t bits;
    };
    for (const Shape& shape :
         {Shape{0, 0, 1}, Shape{0, 3, 5}, Shape{3, 0, 5}, Shape{1, 1, 1}, Shape{1, 9, 64}, Shape{100, 1, 1},
          Shape{40, 2, 23}, Shape{17, 8, 65}, Shape{5, 17, 127}, Shape{9, 3, 128}, Shape{2, 1, 1024}}) {
        const std::string what =
            std::to_string(shape.bases) + " bases, " + std::to_string(shape.bits) + " bits";
        for (const bool is_signed : {false, true}) {
            test_terms(pools, ring,
                       Terms(pools, ring, shape.bases, shape.results, shape.bits, is_signed, false, source),
                       scratch_bytes, what);
            test_terms(pools, ring,
                       Terms(pools, ring, shape.bases, shape.results, shape.bits, is_signed, true, source),
                       scratch_bytes, what + ", sparse");
        }
    }
    // Exponents of all ones carry through every signed digit; zeros have no digits at all.
    for (const Limb limb : {~Limb{0}, Limb{0}, Limb{1}}) {
        Terms terms(pools, ring, 10, 3, 128, true, false, source);
        for (Limb& x : terms.exponents) x = limb;
        test_terms(pools, ring, terms, scratch_bytes, "all limbs alike");
    }
}

// A base without inverse is refused where a minus sign stands at it, and nowhere else.
void test_refusal(Pools& pools, const RingCase& ring, std::size_t scratch_bytes, Source& source) {
    constexpr std::size_t kResults = 6;
    Terms terms(pools, ring, 40, kResults, 40, true, false, source);
    const Limbs zero = ring.load(pools, Limbs(ring.limbs(), 0));
    for (const std::size_t i : {11U, 30U}) {
        std::copy(zero.begin(), zero.end(), terms.rows.begin() + static_cast<std::ptrdiff_t>(i * ring.row()));
        std::fill_n(terms.values.begin() + static_cast<std::ptrdiff_t>(i * ring.limbs()), ring.limbs(), 0);
    }
    for (std::size_t j = 0; j < kResults; ++j) {
        terms.negative[11 * kResults + j] = false;
        terms.negative[30 * kResults + j] = j == kResults - 1;
    }
    Limbs z(kResults * ring.row());
    check(multiply_powers(pools.many, ring.ring, z.data(), terms.view(), scratch_bytes) == 30,
          "the base that lacks its inverse is named");
    terms.negative[30 * kResults + kResults - 1] = false;
    const Limbs expected = terms.expected(ring);
    ring.expect(pools, "multiply_powers with zeros among the bases", kResults, expected,
                [&](ThreadPool& pool, Limb* z_) {
                    check(!multiply_powers(pool, ring.ring, z_, terms.view(), scratch_bytes),
                          "no base is refused");
                });
}

// Products in every order, each depending on what came before or not, against the same one by one.
void test_queue(Pools& pools, const RingCase& ring, Source& source) {
    constexpr std::size_t kRows = 12;
    Limbs values = ring.values(kRows, source);
    Limbs rows = ring.load(pools, values);
    ProductQueue queue(ring.ring);
    for (int step = 0; step < 500; ++step) {
        const std::size_t z = source.limb() % kRows;
        const std::size_t a = source.limb() % kRows;
        const std::size_t b = source.limb() % kRows;
        const auto at = [&](std::size_t i) { return rows.data() + i * ring.row(); };
        if (step % 3 == 0) {
            queue.square(at(z), at(a));
        } else {
            queue.multiply(at(z), at(a), at(b));
        }
        const Limbs product = ring.book.multiply(item(values, ring.limbs(), a),
                                                 item(values, ring.limbs(), step % 3 == 0 ? a : b));
        std::copy(product.begin(), product.end(),
                  values.begin() + static_cast<std::ptrdiff_t>(z * ring.limbs()));
    }
    queue.flush();
    check(ring.store(pools, rows) == values, "the queue's products in " + ring.name);
}

// Scratch that keeps the inverses of `count` bases at once.
std::size_t bytes_for(std::size_t count, const RingCase& ring) {
    return 4 * count * ring.row() * sizeof(Limb);
}

// Less scratch makes fewer and narrower tables and fewer partial products; never none.
void test_scratch() {
    MultiPowerSize size{200, 300, 60'000, 200, 64, true, 8, 2, 640, kAmpleBytes};
    for (; size.scratch_bytes > 0; size.scratch_bytes /= 2) {
        const MultiPowerPlan plan = plan_multi_power(size, true);
        const std::size_t partials = plan.pass_results * plan.block_count * plan.method.positions(64) * 640;
        const std::size_t rows = plan.method.by_tables ? 2 * 200 * plan.method.table_rows()
                                                       : 2 * plan.slab * (plan.method.max_digit() + 2);
        check(plan.pass_results >= 1 && size.most_inverses() >= 1, "there is always a way");
        if (size.scratch_bytes < 1 << 19) continue;  // for two threads' sixteen sequences and a result
        check(rows * 640 <= size.most_table_bytes(), "tables or buckets stay within half of the scratch");
        check(partials <= size.most_partial_bytes(), "partial products stay within a quarter of the scratch");
    }
}

// A thousand bases and fifty results of 23 bits, signed: what a layer of a network costs.
void test_plan() {
    const MultiPowerSize size{1000, 50, 50'000, 1000, 23, true, 8, 2, 640, kAmpleBytes};
    const MultiPowerPlan plan = plan_multi_power(size, true);
    check(!plan.method.by_tables && plan.method.is_signed && plan.method.positions(23) == 3,
          "three positions of signed digits, by buckets");
    const MultiPowerPlan bits =
        plan_multi_power({1000, 50, 50'000, 1000, 1, false, 8, 2, 640, kAmpleBytes}, true);
    check(bits.method.window_bits == 1 && bits.method.positions(1) == 1,
          "zeros and ones are just multiplied");
}

}  // namespace

int main() {
    Source source(4);
    Pools pools;
    test_plan();
    test_scratch();
    hekat::test::for_rings(source, [&](const RingCase& ring) {
        test_queue(pools, ring, source);
        for (const std::size_t scratch_bytes : {kAmpleBytes, bytes_for(7, ring)}) {
            test_refusal(pools, ring, scratch_bytes, source);
            if (ring.limbs() == 2) test_shapes(pools, ring, scratch_bytes, source);
        }
    });
    return hekat::test::verdict();
}
