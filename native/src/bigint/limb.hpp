// The word every big integer is made of, and branch-free selections on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hekat {

using Limb = std::uint64_t;
__extension__ typedef unsigned __int128 Wide;

inline constexpr std::size_t kLimbBits = 64;

inline Limb low_limb(Wide x) { return static_cast<Limb>(x); }
inline Limb high_limb(Wide x) { return static_cast<Limb>(x >> kLimbBits); }

// x, opaque to the optimiser: keeps a mask from being turned back into a branch.
inline Limb hide(Limb x) {
#if !defined(HEKAT_CHECK_WITH_MSAN)  // which takes any inline assembly for a use of what goes in
    __asm__("" : "+r"(x));
#endif
    return x;
}

// All ones where bit is 1, zero where it is 0. bit in {0, 1}.
inline Limb mask_of_bit(Limb bit) { return hide(Limb{0} - bit); }

// All ones where a == b, zero elsewhere, without a branch.
inline Limb mask_of_equal(Limb a, Limb b) {
    const Limb difference = a ^ b;
    return mask_of_bit(((difference | (Limb{0} - difference)) >> (kLimbBits - 1)) ^ 1);
}

}  // namespace hekat
