// What rings of one lane have in common: groups are single residues of whole tiles, tables are read by
// copying.
#pragma once

#include "bigint/residue_ring.hpp"
#include "bigint/tile.hpp"

namespace hekat {

class OneLaneRing : public ResidueRing {
  public:
    // As measured.
    double shared_entry_ns() const override { return 1 + 0.08 * static_cast<double>(row_limbs()); }
    double own_entry_ns() const override { return shared_entry_ns(); }

    void gather(Limb* z, const Limb* const* rows) const override { widen(z, rows[0]); }
    void scatter(Limb* const* rows, const Limb* x) const override;
    void select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const override;
    void pick_vartime(Limb* z, const Limb* table, const Limb* indices) const override;
    std::size_t shared_table_words(std::size_t entry_count) const override {
        return entry_count * row_limbs();
    }
    void put_shared(Limb* table, std::size_t entry_count, std::size_t index, const Limb* row) const override;
    void select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                       std::size_t group_count) const override;

    // A row to width() limbs, and back. z may be row.
    virtual void widen(Limb* z, const Limb* row) const = 0;
    virtual void narrow(Limb* row, const Limb* x) const = 0;

  protected:
    OneLaneRing(std::size_t limb_count, std::size_t width, const TileKernels& kernels)
        : ResidueRing({1, limb_count, limb_count, width}), kernels_(kernels) {}

    const TileKernels& kernels_;
};

}  // namespace hekat
