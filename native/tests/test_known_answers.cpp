// Single operations against known_answers.txt, which OpenSSL's BN library made; on every path.
#include <fstream>
#include <memory>
#include <sstream>

#include "batch/powers.hpp"
#include "bigint/group.hpp"
#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"
#include "bigint/make_ring.hpp"
#include "bigint/power.hpp"
#include "check.hpp"

namespace {

using namespace hekat;
using hekat::test::check;
using hekat::test::kAmpleBytes;
using hekat::test::Limbs;
using hekat::test::limbs_needed;
using hekat::test::limbs_of;

using Words = std::vector<std::string>;

// One modulus with scratch, taking one number in and out of all lanes.
class Field {
  public:
    Field(const std::string& n, CpuPath path)
        : limb_count_(limbs_needed(n)),
          ring_(make_ring(limbs_of(n, limb_count_).data(), limb_count_, nullptr, 0, path)),
          scratch_(ring_->scratch_count()) {}

    const ResidueRing& modulus() const { return *ring_; }
    std::size_t limb_count() const { return limb_count_; }
    Limb* scratch() { return scratch_.data(); }

    // In work.
    Limbs enter(const std::string& x) {
        const Limbs value = limbs_of(x, limbs_needed(x));
        Limbs z(ring_->width());
        ring_->enter(z.data(), reads_of(value.data(), 0, 1, ring_->lanes()).data(), value.size(), scratch());
        return z;
    }

    // At rest.
    Limbs row(const std::string& x) {
        Limbs z(ring_->row_limbs());
        ring_->scatter(writes_of(z.data(), 0, 1, ring_->lanes()).data(), enter(x).data());
        return z;
    }

    // In every lane.
    bool equals(const Limbs& x, const std::string& expected) {
        Limbs values(ring_->lanes() * limb_count_);
        ring_->leave(writes_of(values.data(), limb_count_, ring_->lanes(), ring_->lanes()).data(), x.data(),
                     scratch());
        const Limbs value = limbs_of(expected, limb_count_);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] != value[i % limb_count_]) return false;
        }
        return true;
    }

    bool row_equals(const Limbs& row, const std::string& expected) {
        Limbs x(ring_->width());
        ring_->gather(x.data(), reads_of(row.data(), 0, 1, ring_->lanes()).data());
        return equals(x, expected);
    }

  private:
    std::size_t limb_count_;
    std::unique_ptr<ResidueRing> ring_;
    Limbs scratch_;
};

void test_mul(const Words& words, CpuPath path) {
    Field field(words[1], path);
    const Limbs a = field.enter(words[2]);
    const Limbs b = field.enter(words[3]);
    Limbs z(a.size());
    field.modulus().multiply(z.data(), a.data(), b.data(), field.scratch());
    check(field.equals(z, words[4]), "multiply " + words[1]);
    Limbs same(a.size());
    field.modulus().multiply(same.data(), a.data(), a.data(), field.scratch());
    field.modulus().square(z.data(), a.data(), field.scratch());
    check(z == same, "square " + words[1]);
}

void test_exp(const Words& words, CpuPath path, ThreadPool& pool) {
    Field field(words[1], path);
    const ResidueRing& modulus = field.modulus();
    const Limbs base = field.enter(words[2]);
    const std::size_t exponent_limbs = limbs_needed(words[3]);
    const Limbs exponent = limbs_of(words[3], exponent_limbs);
    Limbs scratch(power_scratch_count(modulus, exponent_limbs));
    Limbs z(modulus.width());
    const ReadPointers exponents = reads_of(exponent.data(), 0, 1, modulus.lanes());
    power(modulus, z.data(), base.data(), exponents.data(), exponent_limbs, scratch.data(), [] {});
    check(field.equals(z, words[4]), "power " + words[1]);
    power_vartime(modulus, z.data(), base.data(), exponents.data(), exponent_limbs, scratch.data(), [] {});
    check(field.equals(z, words[4]), "power_vartime " + words[1]);

    const Limbs value = limbs_of(words[2], field.limb_count());
    for (const unsigned window : {1U, 3U, 6U}) {
        for (const unsigned form : {0U, 1U, 2U, 3U}) {
            const FixedBaseShape shape{kLimbBits * exponent_limbs, window, form % 2 == 0, form >= 2};
            if (shape.factored && modulus.factors() == nullptr) continue;
            Limbs table(shape.table_words(modulus));
            if (!build_fixed_base_table(pool, modulus, shape, table.data(), value.data())) continue;
            Limbs result(modulus.row_limbs());
            const auto refused = raise_fixed_base(pool, modulus, shape, result.data(), table.data(),
                                                  exponent.data(), exponent_limbs, 1);
            check(!refused && field.row_equals(result, words[4]), "raise_fixed_base " + words[1]);
        }
    }
}

void test_inv(const Words& words, CpuPath path) {
    const std::size_t count = limbs_needed(words[1]);
    const Limbs n = limbs_of(words[1], count);
    Limbs z(count);
    const bool found = invert_limbs(z.data(), limbs_of(words[2], count).data(), n.data(), count);
    check(found == (words[3] != "none"), "invert_limbs finds " + words[1]);
    if (found) check(z == limbs_of(words[3], count), "invert_limbs " + words[1]);
    Field field(words[1], path);
    if (!found) return;
    // In the ring's form too: the inverse of a form, repaired, is the form of the inverse.
    Limbs inverse(field.modulus().row_limbs());
    check(field.modulus().invert(inverse.data(), field.row(words[2]).data()), "invert finds " + words[1]);
    check(field.row_equals(inverse, words[3]), "invert " + words[1]);
}

void test_reduce(const Words& words, CpuPath path) {
    Field field(words[1], path);
    check(field.equals(field.enter(words[2]), words[3]), "enter " + words[1]);
}

void test_multi(const Words& words, CpuPath path, ThreadPool& pool) {
    constexpr std::size_t kExponentLimbs = 2;
    Field field(words[1], path);
    const std::size_t count = (words.size() - 3) / 2;
    Limbs bases;
    Limbs exponents;
    const auto negative = std::make_unique<bool[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Limbs base = field.row(words[2 + 2 * i]);
        bases.insert(bases.end(), base.begin(), base.end());
        std::string exponent = words[3 + 2 * i];
        negative[i] = exponent[0] == '-';
        if (negative[i]) exponent.erase(0, 1);
        const Limbs limbs = limbs_of(exponent, kExponentLimbs);
        exponents.insert(exponents.end(), limbs.begin(), limbs.end());
    }
    const PowerTerms terms{bases.data(), exponents.data(), kExponentLimbs, negative.get(),
                           nullptr,      nullptr,          count,          1};
    Limbs z(field.modulus().row_limbs());
    check(!multiply_powers(pool, field.modulus(), z.data(), terms, kAmpleBytes),
          "inverses are found " + words[1]);
    check(field.row_equals(z, words.back()), "multiply_powers " + words[1]);
    for (const unsigned window : {1U, 4U, 5U}) {
        for (const bool by_tables : {false, true}) {
            check(!multiply_powers_by(pool, field.modulus(), z.data(), terms, kAmpleBytes,
                                      {by_tables, false, window}),
                  "inverses are found " + words[1]);
            check(field.row_equals(z, words.back()), "multiply_powers_by " + words[1]);
        }
    }
}

void test_product(const Words& words) {
    const std::size_t a_count = limbs_needed(words[1]);
    const std::size_t b_count = limbs_needed(words[2]);
    Limbs z(a_count + b_count);
    multiply_limbs(z.data(), limbs_of(words[1], a_count).data(), a_count, limbs_of(words[2], b_count).data(),
                   b_count);
    check(z == limbs_of(words[3], z.size()), "multiply_limbs");
}

void test_divide(const Words& words) {
    // Leading zero limbs must not matter.
    for (const std::size_t extra : {0U, 2U}) {
        const std::size_t a_count = limbs_needed(words[1]) + extra;
        const std::size_t b_count = limbs_needed(words[2]) + extra;
        Limbs quotient(a_count);
        Limbs remainder(b_count);
        Limbs scratch(a_count + b_count + 1);
        divide_limbs_vartime(quotient.data(), remainder.data(), limbs_of(words[1], a_count).data(), a_count,
                             limbs_of(words[2], b_count).data(), b_count, scratch.data());
        check(quotient == limbs_of(words[3], a_count), "quotient");
        check(remainder == limbs_of(words[4], b_count), "remainder");
    }
}

void test_line(const Words& words, CpuPath path, ThreadPool& pool) {
    const std::string& operation = words[0];
    if (operation == "mul") return test_mul(words, path);
    if (operation == "exp") return test_exp(words, path, pool);
    if (operation == "inv") return test_inv(words, path);
    if (operation == "reduce") return test_reduce(words, path);
    if (operation == "multi") return test_multi(words, path, pool);
    if (operation == "product") return test_product(words);
    if (operation == "divide") return test_divide(words);
    check(false, "unknown operation " + operation);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    ThreadPool pool(1, [] { return true; });
    for (const CpuPath path : kCpuPaths) {
        if (!can_take(path)) continue;
        std::ifstream file(argv[1]);
        std::string line;
        while (std::getline(file, line)) {
            if (line.starts_with('#')) continue;
            std::istringstream stream(line);
            Words words;
            for (std::string word; stream >> word;) words.push_back(word);
            test_line(words, path, pool);
        }
    }
    return hekat::test::verdict();
}
