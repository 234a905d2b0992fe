// The rings that batches are tested on, and residues for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "batch/residues.hpp"
#include "bigint/make_ring.hpp"
#include "bigint/montgomery.hpp"
#include "bigint/montgomery_pairs.hpp"
#include "eight_lanes.hpp"
#include "schoolbook.hpp"

namespace hekat::test {

struct Pools {
    ThreadPool one{1, [] { return true; }};
    ThreadPool many{4, [] { return true; }};
};

// A ring with what its results are held against.
struct RingCase {
    std::string name;
    const ResidueRing& ring;
    Schoolbook book;

    RingCase(std::string what, const ResidueRing& its_ring)
        : name(std::move(what)),
          ring(its_ring),
          book({its_ring.modulus(), its_ring.modulus() + its_ring.limb_count()}) {}

    std::size_t limbs() const { return ring.limb_count(); }
    std::size_t row() const { return ring.row_limbs(); }

    // count canonical values below the modulus, one after another.
    Limbs values(std::size_t count, Source& source) const {
        Limbs x;
        for (std::size_t i = 0; i < count; ++i) append(x, book.reduce(source.limbs(limbs() + 1)));
        return x;
    }

    Limbs load(Pools& pools, const Limbs& values) const {
        const std::size_t count = values.size() / limbs();
        Limbs x(count * row());
        check(!load_residues(pools.one, ring, x.data(), values.data(), limbs(), count), "values are below");
        return x;
    }

    Limbs store(Pools& pools, const Limbs& rows) const {
        const std::size_t count = rows.size() / row();
        Limbs x(count * limbs());
        store_residues(pools.one, ring, x.data(), rows.data(), count);
        return x;
    }

    // The same work on both pools into `count` rows gives the expected values.
    void expect(Pools& pools, const std::string& what, std::size_t count, const Limbs& expected,
                const std::function<void(ThreadPool&, Limb*)>& work) const {
        Limbs single(count * row(), 1);
        Limbs parallel(count * row(), 2);
        work(pools.one, single.data());
        work(pools.many, parallel.data());
        const std::string where = what + " of " + std::to_string(count) + " in " + name;
        // Values are compared: a residue may have several forms at rest.
        check(store(pools, single) == expected, where + " on one thread");
        check(store(pools, parallel) == expected, where + " on four threads");
    }
};

// Odd, with a high bit set and whatever else the source gives.
inline Limbs odd_limbs(std::size_t limbs, Source& source) {
    Limbs n = source.limbs(limbs);
    n[0] |= 1;
    n[limbs - 1] |= Limb{1} << 62;
    return n;
}

// Calls work with rings of one lane and of eight, modulo numbers of few limbs and of many. Eight lanes hold
// the same layouts whatever kernels compute each: they take the fastest.
inline void for_rings(Source& source, const std::function<void(const RingCase&)>& work) {
    for (const TileKernels* kernels : all_kernels()) {
        const bool is_fastest = kernels == all_kernels().back();
        for (const std::size_t limbs : {1U, 2U, 9U, 17U}) {
            const Limbs n = odd_limbs(limbs, source);
            const Montgomery flat(n.data(), limbs, *kernels);
            work({"one number, " + std::to_string(limbs) + " limbs", flat});
            if (is_fastest)
                work({"one number in eight lanes, " + std::to_string(limbs) + " limbs", EightLanes(flat)});
            if (limbs > 9) continue;
            const MontgomeryPairs pairs(n.data(), limbs, *kernels);
            work({"pairs, " + std::to_string(limbs) + " limbs", pairs});
            if (is_fastest)
                work({"pairs in eight lanes, " + std::to_string(limbs) + " limbs", EightLanes(pairs)});
        }
    }
    if (!can_take(CpuPath::kIfma)) return;
    for (const std::size_t limbs : {1U, 2U, 9U, 17U}) {
        const Limbs n = odd_limbs(limbs, source);
        work({"vectors, " + std::to_string(limbs) + " limbs",
              *make_ring(n.data(), limbs, nullptr, 0, CpuPath::kIfma)});
        const Limbs square = product(n, n);
        work({"vectors of pairs, " + std::to_string(limbs) + " limbs",
              *make_ring(square.data(), square.size(), n.data(), limbs, CpuPath::kIfma)});
    }
}

}  // namespace hekat::test
