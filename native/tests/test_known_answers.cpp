// Single operations against known_answers.txt, which Python's integers made; on every set of kernels.
#include <fstream>
#include <memory>
#include <sstream>

#include "bigint/fixed_base.hpp"
#include "bigint/integer.hpp"
#include "bigint/inverse.hpp"
#include "bigint/montgomery.hpp"
#include "bigint/multi_power.hpp"
#include "bigint/power.hpp"
#include "check.hpp"

namespace {

using namespace hekat;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::limbs_needed;
using hekat::test::limbs_of;

using Words = std::vector<std::string>;

// One modulus with scratch, taking numbers in and out of Montgomery form.
class Field {
  public:
    Field(const std::string& n, const TileKernels& kernels)
        : limb_count_(limbs_needed(n)),
          modulus_(limbs_of(n, limb_count_).data(), limb_count_, kernels),
          scratch_(modulus_.scratch_count()) {}

    const Montgomery& modulus() const { return modulus_; }
    std::size_t limb_count() const { return limb_count_; }
    Limb* scratch() { return scratch_.data(); }

    Limbs enter(const std::string& x) {
        Limbs z = limbs_of(x, modulus_.width());
        modulus_.enter(z.data(), z.data(), scratch());
        return z;
    }

    bool equals(Limbs x, const std::string& expected) {
        modulus_.leave(x.data(), x.data(), scratch());
        return x == limbs_of(expected, modulus_.width());
    }

  private:
    std::size_t limb_count_;
    Montgomery modulus_;
    Limbs scratch_;
};

void test_mul(const Words& words, const TileKernels& kernels) {
    Field field(words[1], kernels);
    const Limbs a = field.enter(words[2]);
    const Limbs b = field.enter(words[3]);
    Limbs z(a.size());
    field.modulus().multiply(z.data(), a.data(), b.data(), field.scratch());
    check(field.equals(z, words[4]), "multiply " + words[1]);
    Limbs same = a;
    field.modulus().multiply(same.data(), same.data(), same.data(), field.scratch());
    field.modulus().square(z.data(), a.data(), field.scratch());
    check(z == same, "square " + words[1]);
}

void test_exp(const Words& words, const TileKernels& kernels) {
    Field field(words[1], kernels);
    const Montgomery& modulus = field.modulus();
    const Limbs base = field.enter(words[2]);
    const std::size_t exponent_limbs = limbs_needed(words[3]);
    const Limbs exponent = limbs_of(words[3], exponent_limbs);
    Limbs scratch(power_scratch_count(modulus, exponent_limbs));
    Limbs z(modulus.width());
    power(modulus, z.data(), base.data(), exponent.data(), exponent_limbs, scratch.data());
    check(field.equals(z, words[4]), "power " + words[1]);
    power_vartime(modulus, z.data(), base.data(), exponent.data(), exponent_limbs, scratch.data());
    check(field.equals(z, words[4]), "power_vartime " + words[1]);

    for (const unsigned window : {1U, 3U, 6U}) {
        const FixedBaseShape shape{kLimbBits * exponent_limbs, window};
        Limbs table(shape.positions() * shape.entry_count() * modulus.limb_count());
        Limbs position_base = base;
        Limbs table_scratch(fixed_base_scratch_count(modulus, 1));
        for (std::size_t i = 0; i < shape.positions(); ++i) {
            Limb* entries = table.data() + i * shape.entry_count() * modulus.limb_count();
            fill_position(modulus, shape, entries, position_base.data(), table_scratch.data());
            next_position_base(modulus, window, position_base.data(), position_base.data(),
                               table_scratch.data());
        }
        Limbs result(modulus.limb_count());
        fixed_base_powers(modulus, shape, result.data(), table.data(), exponent.data(), exponent_limbs, 1,
                          table_scratch.data());
        modulus.widen(z.data(), result.data());
        check(field.equals(z, words[4]), "fixed_base_powers " + words[1]);
    }
}

void test_inv(const Words& words, const TileKernels& kernels) {
    const std::size_t count = limbs_needed(words[1]);
    const Limbs n = limbs_of(words[1], count);
    Limbs z(count);
    const bool found = invert_limbs(z.data(), limbs_of(words[2], count).data(), n.data(), count);
    check(found == (words[3] != "none"), "invert_limbs finds " + words[1]);
    if (found) check(z == limbs_of(words[3], count), "invert_limbs " + words[1]);
    Field field(words[1], kernels);
    if (!found) return;
    // Through Montgomery form: the inverse of a form, repaired, is the form of the inverse.
    Limbs x = field.enter(words[2]);
    Limbs inverse(field.modulus().width(), 0);
    invert_limbs(inverse.data(), x.data(), n.data(), count);
    field.modulus().repair_inverse(inverse.data(), inverse.data(), field.scratch());
    check(field.equals(inverse, words[3]), "repair_inverse " + words[1]);
}

void test_reduce(const Words& words, const TileKernels& kernels) {
    Field field(words[1], kernels);
    const Limbs x = limbs_of(words[2], 2 * field.modulus().width());
    Limbs z(field.modulus().width());
    field.modulus().enter_wide(z.data(), x.data(), field.scratch());
    check(field.equals(z, words[3]), "enter_wide " + words[1]);
}

void test_multi(const Words& words, const TileKernels& kernels) {
    constexpr std::size_t kExponentLimbs = 2;
    Field field(words[1], kernels);
    const Montgomery& modulus = field.modulus();
    const std::size_t width = modulus.width();
    const std::size_t count = (words.size() - 3) / 2;
    Limbs bases;
    Limbs inverses;
    Limbs exponents;
    const auto negative = std::make_unique<bool[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Limbs base = field.enter(words[2 + 2 * i]);
        bases.insert(bases.end(), base.begin(), base.end());
        std::string exponent = words[3 + 2 * i];
        negative[i] = exponent[0] == '-';
        if (negative[i]) exponent.erase(0, 1);
        const Limbs limbs = limbs_of(exponent, kExponentLimbs);
        exponents.insert(exponents.end(), limbs.begin(), limbs.end());
        Limbs inverse(width, 0);
        invert_limbs(inverse.data(), base.data(), modulus.modulus(), modulus.limb_count());
        modulus.repair_inverse(inverse.data(), inverse.data(), field.scratch());
        inverses.insert(inverses.end(), inverse.begin(), inverse.end());
    }
    const PowerTerms terms{
        bases.data(), inverses.data(), exponents.data(), kExponentLimbs, kExponentLimbs, negative.get(), 1,
        count};
    const std::size_t bits = max_exponent_bits(terms);
    for (const unsigned window : {1U, 4U, 5U}) {
        Limbs scratch(modulus.scratch_count() + ((std::size_t{1} << window) + 2) * width);
        Limbs z(width);
        multiply_powers_pippenger(modulus, z.data(), terms, window, bits, scratch.data(), [] {});
        check(field.equals(z, words.back()), "multiply_powers_pippenger " + words[1]);
        Limbs powers(count * width << window);
        Limbs inverse_powers(count * width << window);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = (i << window) * width;
            fill_powers(modulus, powers.data() + at, bases.data() + i * width, window, scratch.data());
            fill_powers(modulus, inverse_powers.data() + at, inverses.data() + i * width, window,
                        scratch.data());
        }
        multiply_powers_straus(modulus, z.data(), terms, {powers.data(), inverse_powers.data(), window}, bits,
                               scratch.data(), [] {});
        check(field.equals(z, words.back()), "multiply_powers_straus " + words[1]);
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

void test_line(const Words& words, const TileKernels& kernels) {
    const std::string& operation = words[0];
    if (operation == "mul") return test_mul(words, kernels);
    if (operation == "exp") return test_exp(words, kernels);
    if (operation == "inv") return test_inv(words, kernels);
    if (operation == "reduce") return test_reduce(words, kernels);
    if (operation == "multi") return test_multi(words, kernels);
    if (operation == "product") return test_product(words);
    if (operation == "divide") return test_divide(words);
    check(false, "unknown operation " + operation);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    for (const TileKernels* kernels : hekat::test::all_kernels()) {
        std::ifstream file(argv[1]);
        std::string line;
        while (std::getline(file, line)) {
            if (line.starts_with('#')) continue;
            std::istringstream stream(line);
            Words words;
            for (std::string word; stream >> word;) words.push_back(word);
            test_line(words, *kernels);
        }
    }
    return hekat::test::verdict();
}
