// Inverses of a batch: running products, one true inversion, and the way back; slice by slice.
// Source: Montgomery, Speeding the Pollard and elliptic curve methods of factorization (1987),
// section 10.3.1.
#include "batch/inversion.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bigint/product_queue.hpp"
#include "bigint/reveal.hpp"

namespace hekat {
namespace {

constexpr std::size_t kMaxItems = 1024;

// Items to a block: what the blocks' own products cost, one after another, against lanes and threads kept
// busy.
std::size_t block_items(const ThreadPool& pool, const ResidueRing& ring, std::size_t count) {
    if (ring.lanes() == 1) return std::clamp<std::size_t>(count / (8 * pool.thread_count()), 16, kMaxItems);
    const std::size_t workers = ring.lanes() * pool.thread_count();
    const std::size_t rounds = (count + workers * kMaxItems - 1) / (workers * kMaxItems);
    const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
    return std::clamp<std::size_t>((count + workers * rounds - 1) / (workers * rounds),
                                   std::min(root, kMaxItems), kMaxItems);
}

// What a batch of `count` is cut into, and the words of each kind of product kept.
struct InversionSizes {
    InversionSizes(const ThreadPool& pool, const ResidueRing& ring, std::size_t count)
        : items(block_items(pool, ring, count)),
          blocks((count + items - 1) / items),
          running_words((blocks + ring.lanes() - 1) / ring.lanes() * items * ring.width()),
          block_words(blocks * ring.row_limbs()) {}

    std::size_t bytes() const { return (running_words + 2 * block_words) * sizeof(Limb); }

    std::size_t items;  // in a block
    std::size_t blocks;
    std::size_t running_words;
    std::size_t block_words;
};

// The most items that the batch can be cut into evenly so that a slice stays within scratch_bytes.
std::size_t slice_items(const ThreadPool& pool, const ResidueRing& ring, std::size_t count,
                        std::size_t scratch_bytes) {
    std::size_t items = count;
    for (std::size_t slices = 2; items > 1 && InversionSizes(pool, ring, items).bytes() > scratch_bytes;
         ++slices) {
        items = (count + slices - 1) / slices;
    }
    return items;
}

// The batch cut into blocks of neighbours, a lane each, with one running product per item within its block.
class InversionBatch {
  public:
    InversionBatch(ThreadPool& pool, const ResidueRing& ring, const Limb* x, std::size_t count)
        : pool_(pool),
          ring_(ring),
          x_(x),
          count_(count),
          sizes_(pool, ring, count),
          running_(sizes_.running_words),
          block_products_(sizes_.block_words),
          totals_(sizes_.block_words) {}

    // running(group, i) = the products of its blocks' items up to the i-th; total(b) = the product of all
    // blocks up to b.
    void multiply_up() {
        for_block_groups([&](const Group& blocks, Limb* item, Limb* scratch) {
            ring_.gather(running(blocks, 0), items(blocks, 0).data());
            for (std::size_t i = 1; i < sizes_.items; ++i) {
                ring_.gather(item, items(blocks, i).data());
                ring_.multiply(running(blocks, i), running(blocks, i - 1), item, scratch);
            }
            ring_.scatter(blocks.writes(block_products_.data(), ring_.row_limbs()).data(),
                          running(blocks, sizes_.items - 1));
        });
        ProductQueue queue(ring_);
        std::memcpy(total(0), block_product(0), ring_.row_limbs() * sizeof(Limb));
        for (std::size_t b = 1; b < sizes_.blocks; ++b)
            queue.multiply(total(b), total(b - 1), block_product(b));
        queue.flush();
    }

    // inverse (a row) = 1 / (the product of everything); false where it has none.
    bool invert_total(Limb* inverse) const { return invert(inverse, total(sizes_.blocks - 1)); }

    // The first item that has no inverse, there being one: running products lose theirs there for good.
    std::size_t find_culprit() const {
        std::size_t block = 0;
        while (block + 1 < sizes_.blocks && has_inverse(total(block))) ++block;
        std::size_t low = 0;
        std::size_t high =
            std::min(count_ - block * sizes_.items, sizes_.items) - 1;  // that one has no inverse
        SecretBuffer row(ring_.row_limbs());
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            WritePointers to{};
            to[block % ring_.lanes()] = row.data();
            ring_.scatter(to.data(), running(block / ring_.lanes(), middle));
            if (has_inverse(row.data())) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return block * sizes_.items + low;
    }

    // z_i = 1 / x_i, from the inverse of the product of everything.
    void divide_down(Limb* z, Limb* inverse) {
        ProductQueue queue(ring_);
        // total(b) becomes the inverse of block b's own product.
        for (std::size_t b = sizes_.blocks; b-- > 1;) {
            queue.multiply(total(b), inverse, total(b - 1));
            queue.multiply(inverse, inverse, block_product(b));
        }
        queue.flush();
        std::memcpy(total(0), inverse, ring_.row_limbs() * sizeof(Limb));
        for_block_groups([&](const Group& blocks, Limb* rest, Limb* scratch) {
            Limb* item = rest + ring_.width();
            ring_.gather(rest, blocks.reads({totals_.data(), ring_.row_limbs(), false}).data());
            for (std::size_t i = sizes_.items; i-- > 1;) {  // rest = 1 / running(i)
                ring_.multiply(item, rest, running(blocks, i - 1), scratch);
                ring_.scatter(targets(z, blocks, i).data(), item);
                ring_.gather(item, items(blocks, i).data());
                ring_.multiply(rest, rest, item, scratch);
            }
            ring_.scatter(targets(z, blocks, 0).data(), rest);
        });
    }

  private:
    // Runs work(blocks, two groups of memory, scratch) over all groups of blocks.
    template <typename Work>
    void for_block_groups(const Work& work) {
        const double block_ns = 2 * static_cast<double>(sizes_.items) * ring_.product_ns();
        for_groups(
            pool_, ring_, sizes_.blocks, block_ns, ring_.scratch_count() + 2 * ring_.width(),
            [&](const Group& blocks, Limb* memory) { work(blocks, memory + ring_.scratch_count(), memory); });
    }

    // The i-th item of every block; one where a block is over, or missing.
    ReadPointers items(const Group& blocks, std::size_t i) const {
        ReadPointers rows{};
        for (std::size_t lane = 0; lane < blocks.lanes; ++lane) {
            const std::size_t at = (blocks.first + lane) * sizes_.items + i;
            rows[lane] = at < count_ ? x_ + at * ring_.row_limbs() : ring_.one_row();
        }
        return rows;
    }

    WritePointers targets(Limb* z, const Group& blocks, std::size_t i) const {
        WritePointers rows{};
        for (std::size_t lane = 0; lane < blocks.count; ++lane) {
            const std::size_t at = (blocks.first + lane) * sizes_.items + i;
            rows[lane] = at < count_ ? z + at * ring_.row_limbs() : nullptr;
        }
        return rows;
    }

    const Limb* running(std::size_t group, std::size_t i) const {
        return running_.data() + (group * sizes_.items + i) * ring_.width();
    }
    Limb* running(const Group& blocks, std::size_t i) {
        return running_.data() + (blocks.first / blocks.lanes * sizes_.items + i) * ring_.width();
    }
    Limb* total(std::size_t b) { return totals_.data() + b * ring_.row_limbs(); }
    const Limb* total(std::size_t b) const { return totals_.data() + b * ring_.row_limbs(); }
    const Limb* block_product(std::size_t b) const { return block_products_.data() + b * ring_.row_limbs(); }

    bool has_inverse(const Limb* x) const {
        SecretBuffer inverse(ring_.row_limbs());
        return invert(inverse.data(), x);
    }

    // Whether there is an inverse is what the caller learns.
    bool invert(Limb* z, const Limb* x) const { return reveal(ring_.invert(z, x)); }

    ThreadPool& pool_;
    const ResidueRing& ring_;
    const Limb* x_;
    std::size_t count_;
    InversionSizes sizes_;
    SecretBuffer running_;
    SecretBuffer block_products_;
    SecretBuffer totals_;
};

std::optional<std::size_t> invert_slice(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                                        std::size_t count) {
    InversionBatch batch(pool, ring, x, count);
    batch.multiply_up();
    SecretBuffer inverse(ring.row_limbs());
    if (!batch.invert_total(inverse.data())) return batch.find_culprit();
    batch.divide_down(z, inverse.data());
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> invert_residues(ThreadPool& pool, const ResidueRing& ring, Limb* z, const Limb* x,
                                           std::size_t count, std::size_t scratch_bytes) {
    const std::size_t items = slice_items(pool, ring, count, scratch_bytes);
    for (std::size_t first = 0; first < count; first += items) {
        const std::size_t at = first * ring.row_limbs();
        const auto refused = invert_slice(pool, ring, z + at, x + at, std::min(items, count - first));
        if (refused) return first + *refused;
    }
    return std::nullopt;
}

}  // namespace hekat
