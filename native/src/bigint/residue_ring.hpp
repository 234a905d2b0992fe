// Residues modulo one odd number in a form of their own: what powers, tables and batches are written against.
#pragma once

#include <cstring>

#include "bigint/limb.hpp"
#include "bigint/tile.hpp"

namespace hekat {

// Residues in work are `width()` limbs; at rest they are packed into limb_count() limbs, as many as a
// canonical value has. Everything here is constant time in residues and in the modulus; sizes are public.
class ResidueRing {
  public:
    virtual ~ResidueRing() = default;
    ResidueRing(const ResidueRing&) = delete;
    ResidueRing& operator=(const ResidueRing&) = delete;

    std::size_t limb_count() const { return limb_count_; }
    std::size_t width() const { return width_; }
    const TileKernels& kernels() const { return kernels_; }

    // Limbs of scratch that every routine below needs.
    virtual std::size_t scratch_count() const = 0;
    // Products of single limbs that `multiply` takes, for sizing chunks.
    virtual std::size_t word_products() const = 0;
    // The modulus itself: width() limbs.
    virtual const Limb* modulus() const = 0;
    virtual const Limb* one() const = 0;

    // z = a b. z may be a or b.
    virtual void multiply(Limb* z, const Limb* a, const Limb* b, Limb* scratch) const = 0;
    // z = a a. z may be a.
    virtual void square(Limb* z, const Limb* a, Limb* scratch) const = 0;
    // z = the residue of any value x of width() limbs. z may be x.
    virtual void enter(Limb* z, const Limb* x, Limb* scratch) const = 0;
    // The same for x of 2 * width() limbs. z is apart from x.
    virtual void enter_wide(Limb* z, const Limb* x, Limb* scratch) const = 0;
    // z = the canonical value of x, below the modulus, width() limbs. z may be x.
    virtual void leave(Limb* z, const Limb* x, Limb* scratch) const = 0;
    // z = 1 / x and true; or false where x has no inverse (z is then without meaning). z may be x.
    virtual bool invert(Limb* z, const Limb* x, Limb* scratch) const = 0;

    // A residue at rest to one in work and back.
    virtual void widen(Limb* z, const Limb* x) const = 0;
    virtual void narrow(Limb* z, const Limb* x) const = 0;

  protected:
    ResidueRing(std::size_t limb_count, std::size_t width, const TileKernels& kernels)
        : kernels_(kernels), limb_count_(limb_count), width_(width) {}

    const TileKernels& kernels_;

  private:
    std::size_t limb_count_;
    std::size_t width_;
};

}  // namespace hekat
