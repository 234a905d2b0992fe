// Factors: residues in a form that makes a product by them cheaper than one of two residues.
#pragma once

#include "bigint/fetch.hpp"

namespace hekat {

// A factor takes as much room as a residue, in work and at rest, and is gathered and selected like one. A
// product of factors in progress is a group in work and a group of sums, sum_words() words. Everything is
// constant time.
class Factors {
  public:
    virtual ~Factors() = default;
    Factors(const Factors&) = delete;
    Factors& operator=(const Factors&) = delete;

    virtual std::size_t sum_words() const = 0;
    // Nanoseconds one residue's product by a factor takes, roughly.
    virtual double product_ns() const = 0;
    // Factors that a product may take in before it is settled; at least two.
    virtual std::size_t most_factors() const = 0;

    // The product in progress (z, sum) = the first factor. z is apart from it.
    virtual void begin(Limb* z, Limb* sum, const Limb* factor) const = 0;
    // (z, sum) becomes the product by one factor more. scratch: what the ring needs, here and below.
    virtual void multiply(Limb* z, Limb* sum, const Limb* factor, Limb* scratch, const Fetch& next) const = 0;
    // sum = values below the root, of value_limbs limbs. With residues z the product (z, sum) is
    // z (1 + value root).
    virtual void enter_sum(Limb* sum, const Limb* const* values, std::size_t value_limbs,
                           Limb* scratch) const = 0;
    // z = the residues that (z, sum) stands for, and sum = 0: more factors may follow.
    virtual void settle(Limb* z, Limb* sum, Limb* scratch) const = 0;

    // z = the factors of the residues x, given their inverses in a form of its own, sum_words() words. z may
    // be x.
    virtual void make(Limb* z, const Limb* x, const Limb* inverses, Limb* scratch) const = 0;
    // The inverses of one; and the inverses of x b for residues x and b, from the inverses of x and the
    // residues 1 / b.
    virtual void begin_inverses(Limb* inverses) const = 0;
    virtual void multiply_inverses(Limb* inverses, const Limb* one_over_b, Limb* scratch) const = 0;

  protected:
    Factors() = default;
};

}  // namespace hekat
