// Residues modulo one odd number in a form of their own, worked on in groups: what powers, tables and batches
// are written against.
#pragma once

#include <cstddef>

#include "bigint/factors.hpp"
#include "bigint/fetch.hpp"
#include "bigint/limb.hpp"

namespace hekat {

inline constexpr std::size_t kMaxLanes = 8;

// A residue lives in one of three places. As a canonical value: limb_count() limbs of 64 bits. At rest, as a
// row: row_limbs() words in the ring's own form. In work, as one of the lanes() residues of a group: width()
// words for the whole group. Everything here is constant time in residues and in the modulus unless it says
// otherwise; sizes are public. Pointers to rows and values come as arrays of lanes() pointers; one may stand
// several times where it is read.
class ResidueRing {
  public:
    virtual ~ResidueRing() = default;
    ResidueRing(const ResidueRing&) = delete;
    ResidueRing& operator=(const ResidueRing&) = delete;

    std::size_t lanes() const { return sizes_.lanes; }            // residues in a group: 1 .. kMaxLanes
    std::size_t limb_count() const { return sizes_.limb_count; }  // 64-bit limbs of a canonical value
    std::size_t row_limbs() const { return sizes_.row_limbs; }    // words of one residue at rest
    std::size_t width() const { return sizes_.width; }            // words of a group in work

    // Words of scratch that every routine below needs.
    virtual std::size_t scratch_count() const = 0;
    // Nanoseconds one residue's product takes, roughly: for sizing chunks.
    virtual double product_ns() const = 0;
    // The same for one entry that `select_shared` reads past, and one that `select` does: for choosing
    // windows.
    virtual double shared_entry_ns() const = 0;
    virtual double own_entry_ns() const = 0;
    // The modulus itself, canonical: limb_count() limbs.
    virtual const Limb* modulus() const = 0;
    // A group of ones, in work; and one at rest.
    virtual const Limb* one() const = 0;
    virtual const Limb* one_row() const = 0;

    // z = a b, lane by lane. z may be a or b.
    virtual void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const = 0;
    // The same, asking for the rows of `next` meanwhile.
    virtual void multiply_and_fetch(Limb* z, const Limb* a, const Limb* b, Limb* scratch,
                                    const Fetch& next) const {
        next.part(0, 1);
        multiply(z, a, b, scratch);
    }
    // z = a a. z may be a.
    virtual void square(Limb* z, const Limb* a, Limb* scratch) const = 0;

    // z = the residues of any values of value_limbs limbs, 1 <= value_limbs <= 2 * limb_count().
    virtual void enter(Limb* z, const Limb* const* values, std::size_t value_limbs, Limb* scratch) const = 0;
    // values (limb_count() limbs each) = the canonical values of the group x. A nullptr is skipped.
    virtual void leave(Limb* const* values, const Limb* x, Limb* scratch) const = 0;

    // Rows to a group in work, and back (a nullptr is skipped).
    virtual void gather(Limb* z, const Limb* const* rows) const = 0;
    virtual void scatter(Limb* const* rows, const Limb* x) const = 0;

    // z = 1 / x for one row at rest and true; or false where x has no inverse (z is then without meaning).
    virtual bool invert(Limb* z, const Limb* x) const = 0;

    // Lane i of z = lane i of the group table[indices[i]], groups of width() words one after another, every
    // one of entry_count read: no trace of the indices.
    virtual void select(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices) const = 0;
    // The same, reading only what it takes: memory access tells the indices.
    virtual void pick_vartime(Limb* z, const Limb* table, const Limb* indices) const = 0;

    // The factors of this ring's products; nullptr where there is no form cheaper than a residue's.
    virtual const Factors* factors() const { return nullptr; }

    // A table that all lanes share, laid out as `select_shared` reads it: words for entry_count entries (a
    // power of two, at least 2), one entry put in from a row, and lane i of each of group_count groups z =
    // entry indices[i], lanes() indices a group one after another, with no trace of the indices.
    virtual std::size_t shared_table_words(std::size_t entry_count) const = 0;
    virtual void put_shared(Limb* table, std::size_t entry_count, std::size_t index,
                            const Limb* row) const = 0;
    virtual void select_shared(Limb* z, const Limb* table, std::size_t entry_count, const Limb* indices,
                               std::size_t group_count) const = 0;

  protected:
    struct Sizes {
        std::size_t lanes;
        std::size_t limb_count;
        std::size_t row_limbs;
        std::size_t width;
    };

    explicit ResidueRing(const Sizes& sizes) : sizes_(sizes) {}

  private:
    Sizes sizes_;
};

}  // namespace hekat
