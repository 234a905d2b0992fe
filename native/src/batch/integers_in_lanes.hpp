// Products of unsigned integers eight at a time, where a processor has AVX-512 IFMA.
#pragma once

#include "batch/groups.hpp"

namespace hekat {

// Whether integers of these sizes may be multiplied in lanes; never in a build without them.
bool fit_lanes(const Items& a, const Items& b);

// z_i = a_i b_i, of a.limbs + b.limbs limbs, for sizes that fit. Constant time.
void multiply_integers_in_lanes(ThreadPool& pool, Limb* z, const Items& a, const Items& b, std::size_t count);

}  // namespace hekat
