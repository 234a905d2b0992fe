// Products along lines: lines are cut into blocks, blocks multiplied lane by lane, and what they give once
// more until one is left of each line.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "batch/residues.hpp"

namespace hekat {
namespace {

constexpr std::size_t kMaxBlockMembers = 256;  // few extra products, and an interrupt is heard soon

// Members [begin, end) of a line, at least one, whose product goes to row `target`.
struct Block {
    std::size_t begin;
    std::size_t end;
    std::size_t target;

    std::size_t size() const { return end - begin; }
};

// Products one after another that lines cut into blocks of so many members take, all rounds together.
std::size_t steps_of(const std::vector<std::size_t>& offsets, std::size_t members_per_block,
                     std::size_t places, std::size_t least) {
    std::size_t blocks = 0;
    std::size_t most = 1;  // blocks of one line
    for (std::size_t line = 0; line + 1 < offsets.size(); ++line) {
        const std::size_t count =
            (offsets[line + 1] - offsets[line] + members_per_block - 1) / members_per_block;
        blocks += count;
        most = std::max(most, count);
    }
    std::size_t steps = (blocks + places - 1) / places * members_per_block;
    for (; most > 1; most = (most + least - 1) / least) steps += least;
    return steps;
}

// Members to a block that keep lanes and threads busy. Few blocks leave few products for the rounds that
// follow, many end together: of few lines the best of some sizes is taken; of many it matters little.
std::size_t block_members(const ThreadPool& pool, const ResidueRing& ring,
                          const std::vector<std::size_t>& offsets) {
    constexpr std::size_t kMaxRounds = 8;
    const std::size_t places = ring.lanes() * pool.thread_count();
    const std::size_t least = ring.lanes() == 1 ? 16 : 4;
    const std::size_t member_count = offsets.back() - offsets.front();
    const auto members_for = [&](std::size_t rounds) {
        const std::size_t blocks = places * rounds;
        return std::clamp((member_count + blocks - 1) / blocks, least, kMaxBlockMembers);
    };
    std::size_t best = members_for(kMaxRounds);
    if (offsets.size() - 1 >= kMaxRounds * places) return best;
    std::size_t best_steps = steps_of(offsets, best, places, least);
    for (std::size_t rounds = 1; rounds < kMaxRounds; ++rounds) {
        const std::size_t steps = steps_of(offsets, members_for(rounds), places, least);
        if (steps >= best_steps) continue;
        best = members_for(rounds);
        best_steps = steps;
    }
    return best;
}

// Every line in as few blocks as hold it, of equal sizes but for one. block_offsets: as offsets, in blocks.
std::vector<Block> cut_lines(const std::vector<std::size_t>& offsets, std::size_t members_per_block,
                             std::vector<std::size_t>& block_offsets) {
    std::vector<Block> blocks;
    block_offsets.assign(1, 0);
    for (std::size_t line = 0; line + 1 < offsets.size(); ++line) {
        const std::size_t size = offsets[line + 1] - offsets[line];
        const std::size_t count = (size + members_per_block - 1) / members_per_block;
        for (std::size_t i = 0; i < count; ++i) {
            blocks.push_back(
                {offsets[line] + i * size / count, offsets[line] + (i + 1) * size / count, blocks.size()});
        }
        block_offsets.push_back(blocks.size());
    }
    return blocks;
}

// Row block.target of z = the block's product, for up to lanes() blocks, the largest first.
void multiply_group(const ResidueRing& ring, Limb* z, const Limb* x, const std::int64_t* members,
                    const Block* blocks, std::size_t count, Limb* scratch) {
    const std::size_t row = ring.row_limbs();
    Limb* product = scratch + ring.scratch_count();
    Limb* factor = product + ring.width();
    ReadPointers rows{};
    // Sets `rows` to the rows of a step; they are fetched during the product before.
    const auto look_up = [&](std::size_t step) {
        Fetch next(row);
        for (std::size_t lane = 0; lane < ring.lanes(); ++lane) {
            rows[lane] = ring.one_row();
            if (lane >= count || step >= blocks[lane].size()) continue;
            rows[lane] = x + static_cast<std::size_t>(members[blocks[lane].begin + step]) * row;
            next.add(rows[lane]);
        }
        return next;
    };
    look_up(0);
    ring.gather(product, rows.data());
    look_up(1).part(0, 1);
    for (std::size_t step = 1; step < blocks[0].size(); ++step) {
        ring.gather(factor, rows.data());
        ring.multiply_and_fetch(product, product, factor, scratch, look_up(step + 1));
    }
    WritePointers to{};
    for (std::size_t lane = 0; lane < count; ++lane) to[lane] = z + blocks[lane].target * row;
    ring.scatter(to.data(), product);
}

void multiply_blocks(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                     const std::int64_t* members, std::vector<Block>& blocks) {
    // By size, so that the lanes of a group end together.
    const auto is_larger = [](const Block& a, const Block& b) { return a.size() > b.size(); };
    if (!std::is_sorted(blocks.begin(), blocks.end(), is_larger)) {
        std::stable_sort(blocks.begin(), blocks.end(), is_larger);
    }
    const std::size_t mean = blocks.empty() ? 1 : 1 + (blocks.front().size() + blocks.back().size()) / 2;
    const std::size_t memory_words = ring.scratch_count() + 2 * ring.width();
    for_groups(pool, ring, blocks.size(), static_cast<double>(mean) * ring.product_ns(), memory_words,
               [&](const Group& group, Limb* scratch) {
                   multiply_group(ring, z, x, members, blocks.data() + group.first, group.count, scratch);
               });
}

}  // namespace

void multiply_lines(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                    const std::int64_t* members, const std::int64_t* offsets, std::size_t line_count) {
    const std::size_t row = ring.row_limbs();
    std::vector<std::size_t> ends(offsets, offsets + line_count + 1);
    std::vector<std::size_t> block_ends;
    std::vector<std::int64_t> in_order;
    std::unique_ptr<SecretBuffer> partials;
    while (true) {
        std::vector<Block> blocks = cut_lines(ends, block_members(pool, ring, ends), block_ends);
        bool is_last = true;
        for (std::size_t line = 0; line < line_count; ++line) {
            is_last = is_last && block_ends[line + 1] - block_ends[line] <= 1;
        }
        if (is_last) {
            for (std::size_t line = 0; line < line_count; ++line) {
                if (block_ends[line] == block_ends[line + 1]) {
                    std::memcpy(z + line * row, ring.one_row(), row * sizeof(Limb));
                } else {
                    blocks[block_ends[line]].target = line;
                }
            }
            multiply_blocks(pool, ring, z, x, members, blocks);
            return;
        }
        auto fewer = std::make_unique<SecretBuffer>(blocks.size() * row);
        multiply_blocks(pool, ring, fewer->data(), x, members, blocks);
        partials = std::move(fewer);
        x = partials->data();
        in_order.resize(blocks.size());
        std::iota(in_order.begin(), in_order.end(), 0);
        members = in_order.data();
        ends = block_ends;
    }
}

}  // namespace hekat
