// Welch's t between the times of secrets that stay fixed and of secrets that are random: near 0 where time
// does not depend on them. A measurement, not a test: it says what it saw on this machine, and other load
// shows. Source: Reparaz, Balasch, Verbauwhede, Dude, is my code constant time? (DATE 2017).
//
// usage: measure_timing [PATH [SAMPLES]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "batch/powers.hpp"
#include "bigint/group.hpp"
#include "bigint/integer.hpp"
#include "bigint/make_ring.hpp"
#include "bigint/power.hpp"
#include "check.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#endif

namespace {

using namespace hekat;
using hekat::test::Limbs;

constexpr std::size_t kLimbs = 32;  // 2048 bits
constexpr std::size_t kExponentLimbs = 4;
constexpr double kKept = 0.9;   // of the samples, the fastest: interrupts fall into the rest
constexpr double kLimit = 4.5;  // |t| above it is hardly chance
constexpr std::uint64_t kSeed = 17;

// Time stamps: cycles of the processor's clock, or nanoseconds where there is none to read.
std::uint64_t now() {
#if defined(__x86_64__) && defined(__GNUC__)
    _mm_lfence();
    const std::uint64_t cycles = __rdtsc();
    _mm_lfence();
    return cycles;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

struct Operation {
    std::string name;
    Limbs fixed;                           // a group's secrets, of the one class
    std::function<void(Limb*)> randomise;  // the same of the other class
    std::function<void(const Limb*)> run;
};

struct Moments {
    double count = 0;
    double mean = 0;
    double squares = 0;  // of differences from the mean, summed

    void add(double x) {
        count += 1;
        const double difference = x - mean;
        mean += difference / count;
        squares += difference * (x - mean);
    }
    double variance_of_mean() const { return squares / (count - 1) / count; }
};

void measure(const Operation& operation, std::size_t sample_count, std::mt19937_64& random) {
    const std::size_t words = operation.fixed.size();
    // Inputs lie one after another for both classes alike, and are copied to one place before each sample.
    Limbs inputs(sample_count * words);
    std::vector<bool> is_fixed(sample_count);
    for (std::size_t i = 0; i < sample_count; ++i) {
        is_fixed[i] = random() % 2 == 0;
        operation.randomise(&inputs[i * words]);
        if (is_fixed[i]) std::copy(operation.fixed.begin(), operation.fixed.end(), &inputs[i * words]);
    }
    Limbs secret(words);
    std::vector<double> times(sample_count);
    for (std::size_t i = 0; i < sample_count; ++i) {
        std::memcpy(secret.data(), &inputs[i * words], words * sizeof(Limb));
        const std::uint64_t start = now();
        operation.run(secret.data());
        times[i] = static_cast<double>(now() - start);
    }
    std::vector<double> sorted = times;
    const auto last =
        sorted.begin() + static_cast<std::ptrdiff_t>(kKept * static_cast<double>(sample_count - 1));
    std::nth_element(sorted.begin(), last, sorted.end());
    Moments moments[2];
    for (std::size_t i = 0; i < sample_count; ++i) {
        if (times[i] <= *last) moments[is_fixed[i] ? 1 : 0].add(times[i]);
    }
    const double error = std::sqrt(moments[0].variance_of_mean() + moments[1].variance_of_mean());
    const double t = error > 0 ? (moments[1].mean - moments[0].mean) / error : 0;
    std::printf("%-42s %12.0f %12.0f %9.2f%s\n", operation.name.c_str(), moments[1].mean, moments[0].mean, t,
                std::abs(t) > kLimit ? "  differs" : "");
    std::fflush(stdout);
}

// The operations on one group of residues, with memory for them.
class Bench {
  public:
    Bench(std::unique_ptr<ResidueRing> ring, std::mt19937_64& random)
        : ring_(std::move(ring)),
          random_(random),
          lanes_(ring_->lanes()),
          scratch_(std::max(power_scratch_count(*ring_, kExponentLimbs),
                            fixed_base_scratch_count(*ring_, lanes_))),
          y_(ring_->width()),
          z_(ring_->width()),
          rows_(lanes_ * ring_->row_limbs()),
          values_(lanes_ * kLimbs),
          shape_{64 * kExponentLimbs, 5, true, ring_->factors() != nullptr},
          table_(shape_.table_words(*ring_)) {
        fill_random(values_.data());
        enter(y_.data(), values_.data());
        ThreadPool pool(1, [] { return true; });
        if (!build_fixed_base_table(pool, *ring_, shape_, table_.data(), values_.data())) {
            throw std::runtime_error("the base of the table has no inverse");
        }
    }

    std::vector<Operation> operations() {
        const auto values = [this](Limb* secret) { fill_random(secret); };
        const auto exponents = [this](Limb* secret) {
            for (std::size_t i = 0; i < lanes_ * kExponentLimbs; ++i) secret[i] = random_();
        };
        const auto group = [this](Limb* secret) {
            fill_random(values_.data());
            enter(secret, values_.data());
        };
        const auto row = [this, group](Limb* secret) {
            group(z_.data());
            ring_->scatter(writes_of(secret, ring_->row_limbs(), 1, lanes_).data(), z_.data());
        };
        const Limbs zeros(lanes_ * kLimbs);
        Limbs zero_group(ring_->width());
        enter(zero_group.data(), zeros.data());
        const Limbs zero_exponents(lanes_ * kExponentLimbs);
        const Limbs one_row(ring_->one_row(), ring_->one_row() + ring_->row_limbs());
        Limbs sparse_exponents = zero_exponents;
        for (std::size_t i = kExponentLimbs - 1; i < sparse_exponents.size(); i += kExponentLimbs) {
            sparse_exponents[i] = Limb{1} << 63;
        }
        return {
            {"enter, value", zeros, values, [this](const Limb* secret) { enter(z_.data(), secret); }},
            {"leave, residue", zero_group, group,
             [this](const Limb* secret) {
                 ring_->leave(writes_of(values_.data(), kLimbs, lanes_, lanes_).data(), secret,
                              scratch_.data());
             }},
            {"multiply, residue", zero_group, group,
             [this](const Limb* secret) { ring_->multiply(z_.data(), secret, y_.data(), scratch_.data()); }},
            {"square, residue", zero_group, group,
             [this](const Limb* secret) { ring_->square(z_.data(), secret, scratch_.data()); }},
            {"invert, residue", one_row, row,
             [this](const Limb* secret) { ring_->invert(rows_.data(), secret); }},
            {"power, exponent", zero_exponents, exponents,
             [this](const Limb* secret) { raise(power, secret); }},
            {"power from a table, exponent", zero_exponents, exponents,
             [this](const Limb* secret) {
                 fixed_base_powers(*ring_, shape_, rows_.data(), table_.data(), secret, kExponentLimbs,
                                   lanes_, scratch_.data(), [] {});
             }},
            {"power_vartime, exponent (has to differ)", sparse_exponents, exponents,
             [this](const Limb* secret) { raise(power_vartime, secret); }},
        };
    }

  private:
    // Values below every modulus here.
    void fill_random(Limb* values) {
        for (std::size_t i = 0; i < lanes_ * kLimbs; ++i) values[i] = random_();
        for (std::size_t lane = 0; lane < lanes_; ++lane) values[(lane + 1) * kLimbs - 1] >>= 3;
    }

    void enter(Limb* z, const Limb* values) {
        ring_->enter(z, reads_of(values, kLimbs, lanes_, lanes_).data(), kLimbs, scratch_.data());
    }

    void raise(decltype(power)* routine, const Limb* exponents) {
        routine(*ring_, z_.data(), y_.data(), reads_of(exponents, kExponentLimbs, lanes_, lanes_).data(),
                kExponentLimbs, scratch_.data(), [] {});
    }

    std::unique_ptr<ResidueRing> ring_;
    std::mt19937_64& random_;
    std::size_t lanes_;
    Limbs scratch_;
    Limbs y_;
    Limbs z_;
    Limbs rows_;
    Limbs values_;
    FixedBaseShape shape_;
    Limbs table_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::optional<CpuPath> path = argc > 1 ? path_named(argv[1]) : fastest_path();
    if (!path || !can_take(*path)) {
        std::fprintf(stderr, "no path that can be taken here\n");
        return 2;
    }
    const std::size_t samples = argc > 2 ? std::stoul(argv[2]) : 20000;
    std::mt19937_64 random(kSeed);
    Limbs root(kLimbs / 2);
    for (Limb& x : root) x = random();
    root.front() |= 1;
    root.back() |= Limb{3} << 62;
    Limbs square(kLimbs);
    multiply_limbs(square.data(), root.data(), root.size(), root.data(), root.size());
    std::printf("path %s, %zu samples each, seed %llu; cycles for a group of residues\n", name_of(*path),
                samples, static_cast<unsigned long long>(kSeed));
    std::printf("%-42s %12s %12s %9s\n", "", "fixed", "random", "t");
    for (const bool has_root : {false, true}) {
        std::printf("%s of %zu bits\n", has_root ? "square modulus" : "modulus", kLimbs * kLimbBits);
        Bench bench(make_ring(square.data(), kLimbs, has_root ? root.data() : nullptr, root.size(), *path),
                    random);
        for (const Operation& operation : bench.operations()) measure(operation, samples, random);
    }
    return 0;
}
