// Scratch limbs that are wiped before their memory goes back.
#pragma once

#include <memory>
#include <new>

#include "bigint/limb.hpp"

namespace hekat {

// Sets count limbs to zero in a way the optimiser may not drop.
void wipe(Limb* limbs, std::size_t count);

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

}  // namespace hekat
