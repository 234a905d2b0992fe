// Inverses of a batch: running products, one true inversion, and the way back.
// Source: Montgomery, Speeding the Pollard and elliptic curve methods of factorization (1987),
// section 10.3.1.
#include "batch/inversion.hpp"

#include <algorithm>
#include <cstring>

namespace hekat {
namespace {

// The batch cut into blocks of neighbours, one running product per item within its block.
class InversionBatch {
  public:
    InversionBatch(ThreadPool& pool, const ResidueRing& modulus, const Limb* x, std::size_t count)
        : pool_(pool),
          modulus_(modulus),
          x_(x),
          count_(count),
          block_items_(std::clamp<std::size_t>(count / (8 * pool.thread_count()), 16, 1024)),
          block_count_((count + block_items_ - 1) / block_items_),
          running_(count * modulus.width()),
          totals_(block_count_ * modulus.width()) {}

    // running_i = the product of its block's items up to i; totals_b = the product of all blocks up to b.
    void multiply_up() {
        for_blocks([&](std::size_t begin, std::size_t end, Limb* item, Limb* scratch) {
            modulus_.widen(running(begin), x_ + begin * modulus_.limb_count());
            for (std::size_t i = begin + 1; i < end; ++i) {
                modulus_.widen(item, x_ + i * modulus_.limb_count());
                modulus_.multiply(running(i), running(i - 1), item, scratch);
            }
        });
        SecretBuffer scratch(modulus_.scratch_count());
        copy(total(0), block_product(0));
        for (std::size_t b = 1; b < block_count_; ++b) {
            modulus_.multiply(total(b), total(b - 1), block_product(b), scratch.data());
        }
    }

    // inverse (width() limbs) = 1 / (the product of everything); false where it has none.
    bool invert_total(Limb* inverse) const { return invert_one(inverse, total(block_count_ - 1)); }

    // The first item that has no inverse, there being one: running products lose theirs there for good.
    std::size_t find_culprit() const {
        std::size_t block = 0;
        while (block + 1 < block_count_ && has_inverse(total(block))) ++block;
        std::size_t low = block * block_items_;
        std::size_t high = std::min(count_, low + block_items_) - 1;  // running(high) has no inverse
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (has_inverse(running(middle))) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    // z_i = 1 / x_i, from the inverse of the product of everything.
    void divide_down(Limb* z, Limb* inverse) {
        SecretBuffer scratch(modulus_.scratch_count());
        // total_b becomes the inverse of block b's own product.
        for (std::size_t b = block_count_; b-- > 1;) {
            modulus_.multiply(total(b), inverse, total(b - 1), scratch.data());
            modulus_.multiply(inverse, inverse, block_product(b), scratch.data());
        }
        copy(total(0), inverse);
        for_blocks([&](std::size_t begin, std::size_t end, Limb* item, Limb* products) {
            Limb* rest = total(begin / block_items_);  // 1 / running(i)
            for (std::size_t i = end; i-- > begin + 1;) {
                modulus_.multiply(item, rest, running(i - 1), products);
                modulus_.narrow(z + i * modulus_.limb_count(), item);
                modulus_.widen(item, x_ + i * modulus_.limb_count());
                modulus_.multiply(rest, rest, item, products);
            }
            modulus_.narrow(z + begin * modulus_.limb_count(), rest);
        });
    }

  private:
    template <typename Work>
    void for_blocks(const Work& work) {
        const double block_ns = 2 * static_cast<double>(block_items_) * product_ns(modulus_);
        pool_.run(block_count_, block_ns, [&](std::size_t first, std::size_t last) {
            SecretBuffer memory(modulus_.scratch_count() + modulus_.width());
            for (std::size_t b = first; b < last; ++b) {
                work(b * block_items_, std::min(count_, (b + 1) * block_items_),
                     memory.data() + modulus_.scratch_count(), memory.data());
            }
        });
    }

    Limb* running(std::size_t i) { return running_.data() + i * modulus_.width(); }
    const Limb* running(std::size_t i) const { return running_.data() + i * modulus_.width(); }
    Limb* total(std::size_t b) { return totals_.data() + b * modulus_.width(); }
    const Limb* total(std::size_t b) const { return totals_.data() + b * modulus_.width(); }
    const Limb* block_product(std::size_t b) const {
        return running(std::min(count_, (b + 1) * block_items_) - 1);
    }
    void copy(Limb* z, const Limb* x) const { std::memcpy(z, x, modulus_.width() * sizeof(Limb)); }

    bool invert_one(Limb* z, const Limb* x) const {
        SecretBuffer scratch(modulus_.scratch_count());
        return modulus_.invert(z, x, scratch.data());
    }

    bool has_inverse(const Limb* x) const {
        SecretBuffer inverse(modulus_.width());
        return invert_one(inverse.data(), x);
    }

    ThreadPool& pool_;
    const ResidueRing& modulus_;
    const Limb* x_;
    std::size_t count_;
    std::size_t block_items_;
    std::size_t block_count_;
    SecretBuffer running_;
    SecretBuffer totals_;
};

}  // namespace

std::optional<std::size_t> invert_residues(ThreadPool& pool, const ResidueRing& modulus, Limb* z,
                                           const Limb* x, std::size_t count) {
    if (count == 0) return std::nullopt;
    InversionBatch batch(pool, modulus, x, count);
    batch.multiply_up();
    SecretBuffer inverse(modulus.width());
    if (!batch.invert_total(inverse.data())) return batch.find_culprit();
    batch.divide_down(z, inverse.data());
    return std::nullopt;
}

}  // namespace hekat
