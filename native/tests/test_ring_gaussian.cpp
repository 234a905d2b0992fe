// Tries for numbers of a discrete Gaussian, of words made for it: at the edges of the table, and as near to a
// chance as the margin says; and blocks of any size.
#include <cmath>

#include "ring/gaussian.hpp"
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::GaussianLaw;
using hekat::ring::Kept;
using hekat::ring::Key;
using hekat::test::check;
using hekat::test::Limbs;

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kNoNumber = std::int64_t{1} << 62;
constexpr Limb kTop = ~Limb{0};
constexpr Limb kNegative = Limb{1} << 63;

struct Try {
    Limb u, v, r;
};

// floor(2^64 C_j) but for their last bits, which no test here needs.
std::vector<Limb> make_thresholds(long double variance) {
    const std::size_t last = static_cast<std::size_t>(std::sqrt(100 * variance));
    long double total = 0;
    for (std::size_t j = 0; j <= last; ++j)
        total += std::exp(-static_cast<long double>(j * j) / (2 * variance));
    std::vector<Limb> thresholds;
    long double sum = 0;
    for (std::size_t j = 0; j < last && (thresholds.empty() || thresholds.back() != kTop); ++j) {
        sum += std::exp(-static_cast<long double>(j * j) / (2 * variance));
        const long double scaled = std::ldexp(sum / total, 64);
        thresholds.push_back(scaled >= 0x1p64L ? kTop : static_cast<Limb>(scaled));
    }
    if (thresholds.back() != kTop) thresholds.push_back(kTop);
    return thresholds;
}

struct Found {
    Numbers numbers;
    bool are_decided;
};

// Each try beside seven that are refused for certain, at every place of a group.
Found keep(CpuPath path, const Try& one, const GaussianLaw& law) {
    Found all{{}, true};
    for (std::size_t place = 0; place < ring::kTryGroup; ++place) {
        Limbs words(ring::kTryWords);
        for (std::size_t i = 0; i < ring::kTryGroup; ++i) {
            const Try& own = i == place ? one : Try{0, 0, kNegative};
            words[i] = own.u;
            words[ring::kTryGroup + i] = own.v;
            words[2 * ring::kTryGroup + i] = own.r;
        }
        Numbers x(2 * ring::kTryGroup);
        const Kept kept = ring::kernels_of(path).keep_tries(x.data(), words.data(), 1, law);
        x.resize(kept.count);
        if (place == 0) all = {x, kept.are_decided};
        if (all.numbers != x || all.are_decided != kept.are_decided) return {{kNoNumber}, false};
    }
    return all;
}

void test_table(CpuPath path, Limb base, unsigned doublings) {
    const std::vector<Limb> thresholds = make_thresholds(std::ldexp(static_cast<long double>(base), -32));
    const Limb limit = Limb{40} << doublings;
    const GaussianLaw law = ring::make_gaussian(base, doublings, limit, thresholds, ring::kGaussianMargin);
    for (std::size_t j = 0; j < thresholds.size(); ++j) {
        const std::string at = ", threshold " + std::to_string(j) + ", path " + name_of(path);
        const auto expected = static_cast<std::int64_t>(static_cast<Limb>(j) << doublings);
        check(!keep(path, {thresholds[j], 0, 0}, law).are_decided, "a tie is open" + at);
        const Found below = keep(path, {thresholds[j] - 2, 0, 0}, law);
        if (j == 0 || thresholds[j] - thresholds[j - 1] > 4) {
            check(below.are_decided && below.numbers == Numbers{expected}, "below" + at);
        }
        if (thresholds[j] > kTop - 4 || thresholds[j + 1] - thresholds[j] <= 4) continue;
        const Found above = keep(path, {thresholds[j] + 2, 0, 0}, law);
        const std::int64_t next = expected + (std::int64_t{1} << doublings);
        check(above.are_decided && above.numbers == Numbers{next}, "above" + at);
    }
}

// Eight units beside the margin the comparison is decided, and right; eight within it is open: so a chance is
// wrong by less than 2^-49.
void test_chances(CpuPath path, Limb base, unsigned doublings) {
    const std::vector<Limb> thresholds = make_thresholds(std::ldexp(static_cast<long double>(base), -32));
    const Limb margin = ring::kGaussianMargin;
    const GaussianLaw law = ring::make_gaussian(base, doublings, Limb{40} << doublings, thresholds, margin);
    const Limb end = Limb{1} << doublings;
    const long double variance = std::ldexp(static_cast<long double>(base), -32);
    test::Source source(21);
    bool holds = true;
    for (std::size_t z = 0; z + 2 < thresholds.size() && thresholds[z] < kTop - 4; ++z) {
        for (const Limb y : {Limb{0}, Limb{1}, end / 3, end / 2, end - 1, source.limb() % end}) {
            if (y >= end) continue;
            const long double t = std::ldexp(static_cast<long double>(y), -static_cast<int>(doublings));
            const long double chance = std::exp(-t * (t + 2 * static_cast<long double>(z)) / (2 * variance));
            const auto nearest = static_cast<Limb>(std::llround(std::ldexp(chance, 52)));
            const Limb u = thresholds[z] - 2;
            const auto number = static_cast<std::int64_t>((static_cast<Limb>(z) << doublings) + y);
            const auto find = [&](Limb digits) {
                return keep(path, {u, digits << 12 | 0x7ff, kNegative | y}, law);
            };
            const Numbers kept = number == 0 ? Numbers{} : Numbers{-number};
            const Found below = find(nearest - margin - 8);
            holds = holds && below.are_decided && below.numbers == kept;
            holds = holds && !find(nearest - margin + 8).are_decided;
            if (nearest + margin + 8 >= Limb{1} << 52) continue;
            holds = holds && !find(nearest + margin - 8).are_decided;
            const Found above = find(nearest + margin + 8);
            holds = holds && above.are_decided && above.numbers.empty();
        }
    }
    check(holds, "chances, base " + std::to_string(base) + ", doublings " + std::to_string(doublings) +
                     ", path " + name_of(path));
}

void test_refusals(CpuPath path) {
    const GaussianLaw law = ring::make_gaussian(Limb{4} << 32, 3, 9, make_thresholds(4), 64);
    const Limb u = law.thresholds.back() + 5;  // z = 1
    check(keep(path, {0, 0, 0}, law).numbers == Numbers{0}, "zero");
    check(keep(path, {0, 0, kNegative}, law).numbers.empty(), "no negative zero");
    check(keep(path, {0, 0, kNegative | 1}, law).numbers == Numbers{-1}, "a negative number");
    check(keep(path, {u, 0, ~kNegative << 3 & ~kNegative}, law).numbers == Numbers{8},
          "bits that nobody reads");
    check(keep(path, {u, 0, 1}, law).numbers == Numbers{9}, "at the limit");
    check(keep(path, {u, 0, 2}, law).numbers.empty(), "beyond the limit");
}

// All paths and threads make the same numbers; fewer are the first ones; nothing is written beyond them.
void test_blocks(CpuPath path) {
    const Key key = test::make_key(3);
    const GaussianLaw law = ring::make_gaussian(Limb{9} << 32, 7, 3840, make_thresholds(9), 64);
    ThreadPool one(1, [] { return true; });
    ThreadPool three(3, [] { return true; });
    Numbers whole(5000);
    std::vector<std::uint8_t> undecided(5, 9);
    ring::sample_gaussian(one, CpuPath::kPortable, whole.data(), undecided.data(), key, 8, 5000, law);
    check(undecided == std::vector<std::uint8_t>(5), "all blocks are decided");
    for (const std::size_t count : {1, 2, 500, 1023, 1024, 1025, 2048, 4999}) {
        Numbers part(count + 1, kNoNumber);
        ring::sample_gaussian(three, path, part.data(), undecided.data(), key, 8, count, law);
        Numbers expected(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count));
        expected.push_back(kNoNumber);
        check(part == expected, "the first " + std::to_string(count) + " numbers, path " + name_of(path));
    }
    const GaussianLaw wide = ring::make_gaussian(Limb{9} << 32, 7, 3840, make_thresholds(9), Limb{1} << 51);
    ring::sample_gaussian(three, path, whole.data(), undecided.data(), key, 8, 5000, wide);
    check(undecided == std::vector<std::uint8_t>(5, 1), "no block is decided");
}

}  // namespace

int main() {
    for (const CpuPath path : test::ring_paths()) {
        for (const Limb base : {Limb{4} << 32, Limb{9} << 32, (Limb{16} << 32) - 1}) {
            for (const unsigned doublings : {0U, 1U, 9U, 40U}) {
                test_table(path, base, doublings);
                test_chances(path, base, doublings);
            }
        }
        test_refusals(path);
        test_blocks(path);
    }
    return test::verdict();
}
