// Matrix products of elements, slot by slot: hekat.engine.ring.interface says what they are.
#pragma once

#include "ring/ring.hpp"

namespace hekat::ring {

struct DotShape {
    std::size_t rows;
    std::size_t terms;
    std::size_t columns;
    std::size_t stride = 1;  // 1, 2, 4 or 8
};

// z (rows, columns) = a (rows, terms) b (terms, columns), matrices of transformed elements, none of them
// empty. An element of a has one slot for `stride` neighbours.
void dot(const Ring& ring, ThreadPool& pool, Limb* z, const Limb* a, const Limb* b, const DotShape& shape);

}  // namespace hekat::ring
