// Everything that is to be constant time, worked through with secrets marked: under valgrind or
// MemorySanitizer a branch or an address that depends on one is an error.
//
// usage: test_constant_time PATH [leak-by-branch | leak-by-address]; the last two have to be reported: the
// test's own test. Exit codes as run_constant_time says.
#include <memory>
#include <numeric>

#include "batch/integers.hpp"
#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "bigint/integer.hpp"
#include "bigint/make_ring.hpp"
#include "check.hpp"
#include "constant_time_program.hpp"
#include "secrets.hpp"

namespace {

using namespace hekat;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

constexpr std::size_t kCount = 11;  // no multiple of any number of lanes
constexpr std::size_t kExponentLimbs = 2;
constexpr std::size_t kScratchBytes = std::size_t{1} << 20;
constexpr FixedBaseShape kShape{70, 4, true};

struct Size {
    std::size_t limbs;
    bool has_root;  // the modulus is a square whose root is known: residues are pairs
};

// What goes into one run. Sizes and counts are public, everything here is secret.
struct Secrets {
    Limbs modulus;  // or its root, half as long
    Limbs values;   // below the modulus
    Limbs wide_values;
    Limbs units;      // with an inverse
    Limbs exponents;  // below 2^70
    Limbs base;

    template <typename Visit>
    void visit(const Visit& visit_one) {
        for (Limbs* limbs : {&modulus, &values, &wide_values, &units, &exponents, &base}) visit_one(*limbs);
    }
};

Secrets make_secrets(const Size& size, Source& source) {
    const std::size_t limbs = size.limbs;
    Secrets made{source.limbs(size.has_root ? limbs / 2 : limbs),
                 source.limbs(kCount * limbs),
                 source.limbs(kCount * 2 * limbs),
                 Limbs(kCount * limbs, 0),
                 source.limbs(kCount * kExponentLimbs),
                 source.limbs(limbs)};
    made.modulus[0] |= 1;
    made.modulus.back() |= Limb{1} << 63;
    for (std::size_t i = 0; i < kCount; ++i) {
        made.values[(i + 1) * limbs - 1] &= (Limb{1} << 61) - 1;
        made.units[i * limbs] = Limb{1} << i;  // 2^i has an inverse modulo every odd number
        made.exponents[(i + 1) * kExponentLimbs - 1] &= (Limb{1} << 6) - 1;
    }
    made.base.back() &= (Limb{1} << 61) - 1;
    return made;
}

struct Result {
    std::string operation;
    Limbs limbs;
};

// The ring of a secret modulus, or of the square of a secret root.
std::unique_ptr<ResidueRing> ring_of(const Size& size, const Secrets& in, CpuPath path) {
    if (!size.has_root) return make_ring(in.modulus.data(), size.limbs, nullptr, 0, path);
    const std::size_t half = size.limbs / 2;
    Limbs square(size.limbs);
    multiply_limbs(square.data(), in.modulus.data(), half, in.modulus.data(), half);
    return make_ring(square.data(), size.limbs, in.modulus.data(), half, path);
}

// The results of all operations on residues.
std::vector<Result> work_through(ThreadPool& pool, const Size& size, const Secrets& in, CpuPath path) {
    const std::unique_ptr<ResidueRing> ring = ring_of(size, in, path);
    const std::size_t limbs = size.limbs;
    const std::size_t row = ring->row_limbs();
    std::vector<Result> results;
    // Every result is stored: what comes back in canonical form is what counts.
    const auto keep = [&](const std::string& operation, const Limbs& rows) {
        results.push_back({operation, Limbs(rows.size() / row * limbs)});
        store_residues(pool, *ring, results.back().limbs.data(), rows.data(), rows.size() / row);
    };
    Limbs x(kCount * row);
    Limbs z(kCount * row);
    check(!load_residues(pool, *ring, x.data(), in.values.data(), limbs, kCount), "every value is below");
    keep("load", x);
    reduce_residues(pool, *ring, z.data(), in.wide_values.data(), 2 * limbs, kCount);
    keep("reduce", z);
    multiply_residues(pool, *ring, z.data(), {x.data(), row, false}, {z.data(), row, false}, kCount);
    keep("multiply", z);
    multiply_residues(pool, *ring, z.data(), {x.data(), row, false}, {x.data(), row, true}, kCount);
    keep("multiply by one item", z);
    if (size.has_root) {
        const std::size_t half = limbs / 2;
        Limbs below_root(kCount * half);
        for (std::size_t i = 0; i < kCount; ++i) {
            std::copy_n(&in.values[i * limbs + half], half, &below_root[i * half]);
        }
        check(!multiply_by_one_plus(pool, *ring, z.data(), {x.data(), row, false},
                                    {below_root.data(), half, false}, in.modulus.data(), half, kCount),
              "every value is below the root");
        keep("multiply by one plus a multiple of the root", z);
    }
    raise_residues(pool, *ring, z.data(), {x.data(), row, false},
                   {in.exponents.data(), kExponentLimbs, false}, kCount, false);
    keep("power", z);
    // Twice the same where there are no factors: every path keeps as many results.
    for (const bool factored : {false, ring->factors() != nullptr}) {
        const FixedBaseShape shape{kShape.exponent_bits, kShape.window_bits, true, factored};
        Limbs table(shape.table_words(*ring));
        // A unit: whether there is an inverse is told.
        check(build_fixed_base_table(pool, *ring, shape, table.data(), in.units.data()),
              "a unit has factors");
        check(!raise_fixed_base(pool, *ring, shape, z.data(), table.data(), in.exponents.data(),
                                kExponentLimbs, kCount),
              "every exponent fits");
        keep(factored ? "fixed-base power, factored" : "fixed-base power", z);
    }
    Limbs product(row);
    std::vector<std::int64_t> members(kCount);
    std::iota(members.begin(), members.end(), 0);
    const std::int64_t offsets[2] = {0, static_cast<std::int64_t>(kCount)};
    multiply_lines(pool, *ring, product.data(), x.data(), members.data(), offsets, 1);
    keep("product of a line", product);
    reduce_residues(pool, *ring, x.data(), in.units.data(), limbs, kCount);
    check(!invert_residues(pool, *ring, z.data(), x.data(), kCount, kScratchBytes),
          "every unit has an inverse");
    keep("inverse", z);
    // Which one has no inverse is told, and nothing else.
    constexpr std::size_t kZero = 5;
    std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(kZero * row), row, 0);
    check(invert_residues(pool, *ring, z.data(), x.data(), kCount, kScratchBytes) == kZero,
          "what has no inverse is named");
    return results;
}

// The same for integers; `below` answers as numbers, since whether a < b stays secret.
std::vector<Result> work_on_integers(ThreadPool& pool, const Size& size, const Secrets& in, CpuPath path) {
    const std::size_t limbs = size.limbs;
    const Items a{in.values.data(), limbs, false};
    const Items b{in.wide_values.data(), 2 * limbs, false};
    Limbs sum(kCount * (2 * limbs + 1));
    add_integers(pool, sum.data(), a, b, kCount);
    Limbs difference(kCount * 2 * limbs);
    bool below[kCount];
    subtract_integers(pool, difference.data(), below, a, b, kCount);
    Limbs below_limbs(kCount);
    for (std::size_t i = 0; i < kCount; ++i) below_limbs[i] = static_cast<Limb>(below[i]);
    Limbs product(kCount * 3 * limbs);
    multiply_integers(pool, test::kFollowsAssembly || path == CpuPath::kIfma ? path : CpuPath::kPortable,
                      product.data(), a, b, kCount);
    return {{"sum", sum}, {"difference", difference}, {"comparison", below_limbs}, {"product", product}};
}

void test_size(const Size& size, CpuPath path, Source& source) {
    ThreadPool pool(1, [] { return true; });
    Secrets secrets = make_secrets(size, source);
    for (const auto work : {work_through, work_on_integers}) {
        const std::vector<Result> expected = work(pool, size, secrets, CpuPath::kPortable);
        secrets.visit(test::mark_secret);
        std::vector<Result> found = work(pool, size, secrets, path);
        secrets.visit(test::make_public);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            bool is_marked = false;
            for (const Limb& x : found[i].limbs) is_marked = is_marked || test::is_secret(x);
            if (test::kFollowsCarries || found[i].operation != "comparison") {
                check(is_marked, found[i].operation + ": the mark came through");
            }
            test::make_public(found[i].limbs);
            check(found[i].limbs == expected[i].limbs,
                  found[i].operation + ": what the portable path gives without marks");
        }
    }
}

// Powers with secret exponents by routines that are for public ones: their branches, or the addresses they
// read, tell the exponents.
void leak(CpuPath path, Source& source, bool by_branch) {
    const Size size{8, false};
    ThreadPool pool(1, [] { return true; });
    Secrets secrets = make_secrets(size, source);
    const std::unique_ptr<ResidueRing> ring = ring_of(size, secrets, path);
    const std::size_t row = ring->row_limbs();
    Limbs z(kCount * row);
    const FixedBaseShape shape{kShape.exponent_bits, kShape.window_bits, false};
    Limbs table(shape.table_words(*ring));
    build_fixed_base_table(pool, *ring, shape, table.data(), secrets.base.data());
    test::mark_secret(secrets.exponents);
    if (by_branch) {
        raise_residues(pool, *ring, z.data(), {table.data(), row, false},
                       {secrets.exponents.data(), kExponentLimbs, false}, kCount, true);
    } else {
        raise_fixed_base(pool, *ring, shape, z.data(), table.data(), secrets.exponents.data(), kExponentLimbs,
                         kCount);
    }
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_constant_time(argc, argv, [](CpuPath path, const std::string& mode) {
        Source source(6);
        if (mode == "leak-by-branch" || mode == "leak-by-address") {
            leak(path, source, mode == "leak-by-branch");
            return true;
        }
        if (!mode.empty()) return false;
        for (const Size& size : {Size{3, false}, Size{12, false}, Size{6, true}, Size{24, true}}) {
            test_size(size, path, source);
        }
        return true;
    });
}
