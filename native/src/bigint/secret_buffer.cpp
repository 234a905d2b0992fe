// Wiping that the optimiser has to keep.
#include "bigint/secret_buffer.hpp"

#include <cstring>

namespace hekat {

void wipe(Limb* limbs, std::size_t count) {
    if (count == 0) return;
    std::memset(limbs, 0, count * sizeof(Limb));
    // Says that somebody may read the zeros: the stores above stay.
    __asm__ volatile("" : : "r"(limbs) : "memory");
}

}  // namespace hekat
