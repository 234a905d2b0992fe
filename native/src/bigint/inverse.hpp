// The inverse modulo an odd number, in constant time.
#pragma once

#include "bigint/limb.hpp"

namespace hekat {

// z = x^-1 mod n, in [0, n), and true; or false where x and n share a factor (z is then without meaning).
// x < n, n odd and above 1; all of count limbs; z may be x. Constant time in x and n.
// Source: Bernstein, Yang, Fast constant-time gcd computation and modular inversion (CHES 2019), sections 8
// and 11.
bool invert_limbs(Limb* z, const Limb* x, const Limb* n, std::size_t count);

}  // namespace hekat
