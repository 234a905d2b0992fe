// Products of rows, collected until there are enough to fill the lanes.
#pragma once

#include "bigint/group.hpp"
#include "bigint/residue_ring.hpp"
#include "bigint/secret_buffer.hpp"

namespace hekat {

// Takes products of rows one by one and runs them lanes() at a time. Results are right whatever the order: a
// product that reads or overwrites what a waiting one is to write makes the waiting ones run first. So
// callers get full groups by going over many results in turn, one factor each, before any result's next
// factor. A row that a product reads or writes stays untouched by others until `flush`.
class ProductQueue {
  public:
    explicit ProductQueue(const ResidueRing& ring);

    const ResidueRing& ring() const { return ring_; }

    // z = a b, rows. z may be a or b.
    void multiply(Limb* z, const Limb* a, const Limb* b);
    // z = a a. z may be a.
    void square(Limb* z, const Limb* a) { multiply(z, a, a); }
    // Runs what waits.
    void flush();

  private:
    bool is_awaited(const Limb* row) const;

    const ResidueRing& ring_;
    SecretBuffer memory_;
    ReadPointers left_{};
    ReadPointers right_{};
    WritePointers results_{};
    std::size_t count_ = 0;
};

// A product that grows factor by factor. It is nothing at first, then its first factor where that lies, then
// in a row of its own: a first factor costs neither product nor copy.
class RunningProduct {
  public:
    explicit RunningProduct(Limb* row, const Limb* value = nullptr) : row_(row), value_(value) {}

    // The product so far, once the queue is flushed; nullptr where it has no factors.
    const Limb* value() const { return value_; }

    void multiply(ProductQueue& queue, const Limb* factor) {
        if (value_ == nullptr) {
            value_ = factor;
        } else {
            queue.multiply(row_, value_, factor);
            value_ = row_;
        }
    }

    void square(ProductQueue& queue) {
        if (value_ == nullptr) return;
        queue.square(row_, value_);
        value_ = row_;
    }

  private:
    Limb* row_;
    const Limb* value_;
};

}  // namespace hekat
