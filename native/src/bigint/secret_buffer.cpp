// Wiping that the optimiser has to keep.
#include "bigint/secret_buffer.hpp"

#include <cstring>

namespace hekat {

void wipe(Limb* limbs, std::size_t count) { wipe_bytes(limbs, count * sizeof(Limb)); }

void wipe_bytes(void* memory, std::size_t byte_count) {
    if (byte_count == 0) return;
    std::memset(memory, 0, byte_count);
    // Says that somebody may read the zeros: the stores above stay.
    __asm__ volatile("" : : "r"(memory) : "memory");
}

}  // namespace hekat
