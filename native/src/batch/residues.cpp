// Batches of residues: element-wise work, products along lines.
#include "batch/residues.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "bigint/integer.hpp"

namespace hekat {
namespace {

// What one chunk of a batch works in: scratch for products and two residues at full width.
class Workspace {
  public:
    explicit Workspace(const ResidueRing& modulus)
        : modulus_(modulus), memory_(modulus.scratch_count() + 4 * modulus.width()) {}

    Limb* scratch() { return memory_.data(); }
    // Two of 2 * width() limbs, zero above what is widened into them.
    Limb* first() { return memory_.data() + modulus_.scratch_count(); }
    Limb* second() { return first() + 2 * modulus_.width(); }

  private:
    const ResidueRing& modulus_;
    SecretBuffer memory_;
};

// Lowers `least` to index if that is smaller.
void note_least(std::atomic<std::size_t>& least, std::size_t index) {
    std::size_t seen = least.load();
    while (index < seen && !least.compare_exchange_weak(seen, index)) {
    }
}

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kBlockMembers = 64;  // members of a line multiplied in one go

}  // namespace

double product_ns(const ResidueRing& modulus) {
    return 0.6 * static_cast<double>(modulus.word_products()) + 100;
}

std::optional<std::size_t> load_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z,
                                         const Limb* values, std::size_t value_limbs, std::size_t count) {
    std::atomic<std::size_t> refused{kNone};
    pool.run(count, product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        Limb* x = space.first();
        for (std::size_t i = begin; i < end; ++i) {
            std::memcpy(x, values + i * value_limbs, value_limbs * sizeof(Limb));
            std::memset(x + value_limbs, 0, (modulus.width() - value_limbs) * sizeof(Limb));
            if (is_below(x, modulus.modulus(), modulus.width()) == 0) note_least(refused, i);
            modulus.enter(x, x, space.scratch());
            modulus.narrow(z + i * modulus.limb_count(), x);
        }
    });
    if (refused != kNone) return refused.load();
    return std::nullopt;
}

void reduce_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* values,
                     std::size_t value_limbs, std::size_t count) {
    pool.run(count, 2 * product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        Limb* x = space.first();
        const std::size_t full = 2 * modulus.width();
        for (std::size_t i = begin; i < end; ++i) {
            std::memcpy(x, values + i * value_limbs, value_limbs * sizeof(Limb));
            std::memset(x + value_limbs, 0, (full - value_limbs) * sizeof(Limb));
            if (value_limbs <= modulus.width()) {
                modulus.enter(space.second(), x, space.scratch());
            } else {
                modulus.enter_wide(space.second(), x, space.scratch());
            }
            modulus.narrow(z + i * modulus.limb_count(), space.second());
        }
    });
}

void store_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* x, std::size_t count) {
    pool.run(count, product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        for (std::size_t i = begin; i < end; ++i) {
            modulus.widen(space.first(), x + i * modulus.limb_count());
            modulus.leave(space.first(), space.first(), space.scratch());
            std::memcpy(z + i * modulus.limb_count(), space.first(), modulus.limb_count() * sizeof(Limb));
        }
    });
}

void multiply_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Items& a, const Items& b,
                       std::size_t count) {
    pool.run(count, product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        for (std::size_t i = begin; i < end; ++i) {
            modulus.widen(space.first(), a.at(i));
            modulus.widen(space.second(), b.at(i));
            modulus.multiply(space.first(), space.first(), space.second(), space.scratch());
            modulus.narrow(z + i * modulus.limb_count(), space.first());
        }
    });
}

void multiply_lines(ThreadPool& pool, const ResidueRing& modulus, Limb* z, const Limb* x,
                    const std::int64_t* members, const std::int64_t* offsets, std::size_t line_count) {
    const std::size_t limbs = modulus.limb_count();
    // Long lines are cut into blocks: each gives one partial product, then each line multiplies its partials.
    struct Block {
        std::int64_t begin;
        std::int64_t end;
    };
    std::vector<Block> blocks;
    std::vector<std::size_t> first_block(line_count + 1, 0);
    for (std::size_t line = 0; line < line_count; ++line) {
        for (std::int64_t begin = offsets[line]; begin < offsets[line + 1];) {
            const std::int64_t end =
                std::min(offsets[line + 1], begin + static_cast<std::int64_t>(kBlockMembers));
            blocks.push_back({begin, end});
            begin = end;
        }
        first_block[line + 1] = blocks.size();
    }
    SecretBuffer partials(blocks.size() * modulus.width());
    const auto members_per_block =
        blocks.empty() ? 1.0 : static_cast<double>(offsets[line_count]) / static_cast<double>(blocks.size());
    pool.run(blocks.size(), members_per_block * product_ns(modulus), [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        for (std::size_t block = begin; block < end; ++block) {
            Limb* product = partials.data() + block * modulus.width();
            const auto item = [&](std::int64_t i) {
                return x + static_cast<std::size_t>(members[i]) * limbs;
            };
            modulus.widen(product, item(blocks[block].begin));
            for (std::int64_t i = blocks[block].begin + 1; i < blocks[block].end; ++i) {
                modulus.widen(space.first(), item(i));
                modulus.multiply(product, product, space.first(), space.scratch());
            }
        }
    });
    const double blocks_per_line =
        static_cast<double>(blocks.size()) / static_cast<double>(std::max<std::size_t>(line_count, 1));
    pool.run(line_count, blocks_per_line * product_ns(modulus) + 50, [&](std::size_t begin, std::size_t end) {
        Workspace space(modulus);
        for (std::size_t line = begin; line < end; ++line) {
            Limb* product = space.first();
            std::size_t block = first_block[line];
            const Limb* start =
                block == first_block[line + 1] ? modulus.one() : partials.data() + block++ * modulus.width();
            std::memcpy(product, start, modulus.width() * sizeof(Limb));
            for (; block < first_block[line + 1]; ++block) {
                modulus.multiply(product, product, partials.data() + block * modulus.width(),
                                 space.scratch());
            }
            modulus.narrow(z + line * limbs, product);
        }
    });
}

}  // namespace hekat
