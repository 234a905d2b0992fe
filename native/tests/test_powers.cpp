// Powers keep to the scratch they ask for, whatever their exponents, and ask whether to go on at every
// window.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "batch/powers.hpp"
#include "bigint/group.hpp"
#include "bigint/power.hpp"
#include "rings.hpp"

namespace {

using namespace hekat;
using hekat::test::append;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Pools;
using hekat::test::RingCase;
using hekat::test::Source;

constexpr std::size_t kMostLimbs = 512;

void test_windows() {
    for (const double cost : {0.0, 0.01, 0.05, 0.3, 1.0}) {
        unsigned widest = 1;
        for (std::size_t bits = 0; bits <= kLimbBits * kMostLimbs; ++bits) {
            const unsigned window = power_window_bits(bits, cost);
            const std::string where = std::to_string(bits) + " bits at " + std::to_string(cost);
            check(window >= widest && window <= 6, "a window is never wider for fewer bits than " + where);
            check(window <= power_window_bits(bits, 0),
                  "a window is widest where entries are free: " + where);
            widest = std::max(widest, window);
        }
    }
}

// Scratch of exactly the size asked for, with marks behind it.
class Scratch {
  public:
    explicit Scratch(std::size_t count) : limbs_(count + kMarks, kMark) {}

    Limb* data() { return limbs_.data(); }
    bool is_kept_to() const {
        return std::all_of(limbs_.end() - kMarks, limbs_.end(), [](Limb x) { return x == kMark; });
    }

  private:
    static constexpr std::ptrdiff_t kMarks = 4096;
    static constexpr Limb kMark = 0x6d61726b;

    Limbs limbs_;
};

// Different exponents of every length that fits, one lane of one bit more than the others.
void test_scratch(Pools& pools, const RingCase& ring, Source& source) {
    const std::size_t lanes = ring.ring.lanes();
    const Limbs rows = ring.load(pools, ring.values(lanes, source));
    Limbs x(ring.ring.width());
    ring.ring.gather(x.data(), reads_of(rows.data(), ring.row(), lanes, lanes).data());
    for (const std::size_t limbs : {1U, 2U, 5U, 6U, 15U, 16U, 30U}) {
        Scratch scratch(power_scratch_count(ring.ring, limbs));
        for (std::size_t bits = 1; bits <= kLimbBits * limbs; bits += bits < 100 ? 1 : 23) {
            Limbs exponents(lanes * limbs, 0);
            exponents[(bits - 1) / kLimbBits] = Limb{1} << ((bits - 1) % kLimbBits);
            const ReadPointers pointers = reads_of(exponents.data(), limbs, lanes, lanes);
            Limbs z(ring.ring.width());
            power_vartime(ring.ring, z.data(), x.data(), pointers.data(), limbs, scratch.data(), [] {});
            if (bits == 1)
                power(ring.ring, z.data(), x.data(), pointers.data(), limbs, scratch.data(), [] {});
            check(scratch.is_kept_to(),
                  "powers of " + std::to_string(bits) + " bits keep to their scratch in " + ring.name);
        }
    }
}

std::size_t asked = 0;
std::size_t asked_at_most = 0;

void count_and_stop() {
    if (++asked > asked_at_most) throw std::runtime_error("stop");
}

// How often work asks whether to go on.
template <typename Work>
std::size_t times_asked(const Work& work) {
    asked = 0;
    asked_at_most = ~std::size_t{0};
    work();
    return asked;
}

template <typename Work>
bool is_stopped(std::size_t at, const Work& work) {
    asked = 0;
    asked_at_most = at;
    try {
        work();
    } catch (const std::runtime_error&) {
        return asked == at + 1;
    }
    return false;
}

void test_checkpoints(Pools& pools, const RingCase& ring, Source& source) {
    constexpr std::size_t kExponentLimbs = 8;
    constexpr std::size_t kBits = kLimbBits * kExponentLimbs;
    const ResidueRing& r = ring.ring;
    const Limbs base = ring.values(1, source);
    const Limbs row = ring.load(pools, base);
    Limbs x(r.width());
    r.gather(x.data(), reads_of(row.data(), ring.row(), 1, r.lanes()).data());
    Limbs z(r.width());
    Scratch scratch(power_scratch_count(r, kExponentLimbs));
    const Limbs none(kExponentLimbs, 0);
    const Limbs all(kExponentLimbs, ~Limb{0});
    Limbs top(kExponentLimbs, 0);
    top.back() = Limb{1} << (kLimbBits - 1);
    const auto raise = [&](auto raises, const Limbs& exponent) {
        return [&, raises] {
            const ReadPointers exponents = reads_of(exponent.data(), 0, 1, r.lanes());
            raises(r, z.data(), x.data(), exponents.data(), kExponentLimbs, scratch.data(), count_and_stop);
        };
    };
    const std::size_t least = kBits / 16 - 1;
    const std::size_t often = times_asked(raise(power, all));
    check(often >= least, "power asks at every window in " + ring.name);
    check(times_asked(raise(power, none)) == often, "power asks as often for any exponent in " + ring.name);
    check(is_stopped(often / 2, raise(power, all)), "power stops in " + ring.name);
    for (const Limbs* exponent : {&all, &std::as_const(top)}) {
        check(times_asked(raise(power_vartime, *exponent)) >= least,
              "power_vartime asks at every window in " + ring.name);
        check(is_stopped(least / 2, raise(power_vartime, *exponent)), "power_vartime stops in " + ring.name);
    }
    if (r.lanes() > 1) {
        Limbs mixed = all;
        for (std::size_t lane = 1; lane < r.lanes(); ++lane) append(mixed, top);
        const auto raise_mixed = [&] {
            const ReadPointers exponents = reads_of(mixed.data(), kExponentLimbs, r.lanes(), r.lanes());
            power_vartime(r, z.data(), x.data(), exponents.data(), kExponentLimbs, scratch.data(),
                          count_and_stop);
        };
        check(times_asked(raise_mixed) >= least,
              "power_vartime of many asks at every window in " + ring.name);
    }
    for (const unsigned form : {0U, 1U, 2U, 3U}) {
        const bool constant_time = form % 2 == 0;
        const FixedBaseShape shape{kBits, 4, constant_time, form >= 2};
        if (shape.factored && r.factors() == nullptr) continue;
        Limbs table(shape.table_words(r));
        Limbs unit(ring.limbs());
        unit[0] = 2;
        check(build_fixed_base_table(pools.one, r, shape, table.data(), unit.data()), "2 has factors");
        Limbs result(ring.row());
        Limbs memory(fixed_base_scratch_count(r, 1));
        const auto powers = constant_time ? fixed_base_powers : fixed_base_powers_vartime;
        const auto look_up = [&] {
            powers(r, shape, result.data(), table.data(), all.data(), kExponentLimbs, 1, memory.data(),
                   count_and_stop);
        };
        check(times_asked(look_up) == shape.positions(), "tables ask at every position in " + ring.name);
        check(is_stopped(shape.positions() / 2, look_up), "tables stop in " + ring.name);
    }
}

}  // namespace

int main() {
    Source source(11);
    Pools pools;
    test_windows();
    hekat::test::for_rings(source, [&](const RingCase& ring) {
        if (ring.limbs() > 2) return;
        test_scratch(pools, ring, source);
        test_checkpoints(pools, ring, source);
    });
    return hekat::test::verdict();
}
