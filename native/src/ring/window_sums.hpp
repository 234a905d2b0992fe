// Sums of elements' coefficients by segment of rows and by digit: hekat.engine.ring.interface says what they
// are.
#pragma once

#include "ring/ring.hpp"

namespace hekat::ring {

// out (segments, windows, components, primes, window) from elements (groups, components, an element), not
// transformed.
void sum_windows(const Ring& ring, ThreadPool& pool, Limb* out, const Limb* elements, std::size_t components,
                 const Digits& digits, const Segments& segments);

}  // namespace hekat::ring
