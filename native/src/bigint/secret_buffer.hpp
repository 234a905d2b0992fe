// Scratch memory that is wiped before it goes back.
#pragma once

#include <array>
#include <memory>
#include <new>

#include "bigint/limb.hpp"

namespace hekat {

// Sets count limbs to zero in a way the optimiser may not drop.
void wipe(Limb* limbs, std::size_t count);
void wipe_bytes(void* memory, std::size_t byte_count);

// count limbs, zero at first, on a cache line of their own, wiped when the buffer goes.
class SecretBuffer {
  public:
    explicit SecretBuffer(std::size_t count) : limbs_(new (kLine) Limb[count]{}), count_(count) {}
    ~SecretBuffer() { wipe(limbs_.get(), count_); }
    SecretBuffer(const SecretBuffer&) = delete;
    SecretBuffer& operator=(const SecretBuffer&) = delete;
    SecretBuffer(SecretBuffer&&) = delete;
    SecretBuffer& operator=(SecretBuffer&&) = delete;

    Limb* data() { return limbs_.get(); }
    const Limb* data() const { return limbs_.get(); }
    std::size_t size() const { return count_; }

  private:
    static constexpr std::align_val_t kLine{64};
    struct Free {
        void operator()(Limb* limbs) const { ::operator delete[](limbs, kLine); }
    };

    std::unique_ptr<Limb[], Free> limbs_;
    std::size_t count_;
};

// count items on the stack, zero at first, wiped whichever way the block is left.
template <typename Item, std::size_t count>
class SecretArray {
  public:
    SecretArray() = default;
    ~SecretArray() { wipe_bytes(items.data(), sizeof(items)); }
    SecretArray(const SecretArray&) = delete;
    SecretArray& operator=(const SecretArray&) = delete;

    Item* data() { return items.data(); }

    std::array<Item, count> items{};
};

}  // namespace hekat
