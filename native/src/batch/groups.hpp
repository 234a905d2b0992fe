// A batch cut into groups of a ring's lanes.
#pragma once

#include <algorithm>

#include "batch/thread_pool.hpp"
#include "bigint/group.hpp"
#include "bigint/residue_ring.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {

// Items of one size one after another; a single one where it stands for a whole batch.
struct Items {
    const Limb* data;
    std::size_t limbs;  // of one item
    bool is_one;        // the same item for every index

    const Limb* at(std::size_t i) const { return data + (is_one ? 0 : i * limbs); }
};

// Items [first, first + count) of a batch, 1 <= count <= lanes, as what a ring takes.
struct Group {
    std::size_t first;
    std::size_t count;
    std::size_t lanes;

    ReadPointers reads(const Items& items) const {
        return reads_of(items.at(first), items.is_one ? 0 : items.limbs, count, lanes);
    }
    WritePointers writes(Limb* items, std::size_t item_words) const {
        return writes_of(items + first * item_words, item_words, count, lanes);
    }
};

// Runs work(group, memory) over all groups of count items, item_ns each. memory: memory_words words, shared
// by one chunk's groups, zero at first, wiped at last.
template <typename Work>
void for_groups(ThreadPool& pool, const ResidueRing& ring, std::size_t count, double item_ns,
                std::size_t memory_words, const Work& work) {
    const std::size_t lanes = ring.lanes();
    const std::size_t groups = (count + lanes - 1) / lanes;
    pool.run(groups, item_ns * static_cast<double>(lanes), [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(memory_words);
        for (std::size_t group = begin; group < end; ++group) {
            const std::size_t first = group * lanes;
            work(Group{first, std::min(lanes, count - first), lanes}, memory.data());
        }
    });
}

}  // namespace hekat
