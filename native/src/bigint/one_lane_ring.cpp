// Rows and tables of rings of one lane.
#include "bigint/one_lane_ring.hpp"

#include <cstring>

namespace hekat {

void OneLaneRing::scatter(Limb* const* rows, const Limb* x) const {
    if (rows[0] != nullptr) narrow(rows[0], x);
}

void OneLaneRing::select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const {
    kernels_.select_entry(z, table, entry_count, width(), indices[0]);
}

void OneLaneRing::pick_vartime(Limb* z, const Limb* table, const Limb* indices) const {
    std::memcpy(z, table + indices[0] * width(), width() * sizeof(Limb));
}

void OneLaneRing::put_shared(Limb* table, std::size_t, std::size_t index, const Limb* row) const {
    std::memcpy(table + index * row_limbs(), row, row_limbs() * sizeof(Limb));
}

void OneLaneRing::select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                                std::size_t group_count) const {
    for (std::size_t group = 0; group < group_count; ++group, z += width()) {
        kernels_.select_entry(z, table, entry_count, row_limbs(), indices[group]);
        widen(z, z);
    }
}

}  // namespace hekat
