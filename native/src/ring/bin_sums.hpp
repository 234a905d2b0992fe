// Sums of elements times sparse plaintexts, by segment of rows and by window of digits:
// hekat.engine.ring.interface says what they are.
//
// Work goes slice by slice of the elements' rows: a slice of all of a segment's elements stays in the second
// cache while every window's plaintexts, made where they are used, are multiplied by it.
#pragma once

#include "ring/ring.hpp"

namespace hekat::ring {

class BinSums {
  public:
    // Keeps a reference to the ring.
    explicit BinSums(const Ring& ring);
    BinSums(const BinSums&) = delete;
    BinSums& operator=(const BinSums&) = delete;

    const Ring& ring() const { return ring_; }

    // out (segments, windows, components, an element) from elements (groups, components, an element), both
    // transformed.
    void sum(ThreadPool& pool, Limb* out, const Limb* elements, std::size_t components, const Digits& digits,
             const Segments& segments) const;

  private:
    struct Work;
    void sum_task(const Work& work, std::size_t task) const;

    const Ring& ring_;
    std::vector<BinFactors> factors_;
};

}  // namespace hekat::ring
