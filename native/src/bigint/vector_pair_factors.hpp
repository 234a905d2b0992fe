// Factors modulo n^2, eight at a time.
#pragma once

#include "bigint/factors.hpp"
#include "bigint/vector_kernels.hpp"

namespace hekat {

class VectorPairs;

// A residue x whose pair is (x0, x1), x0 coprime to n, is x0 (1 + l n) / R mod n^2 with l = x1 / x0 mod n,
// because (1 + l n) (1 + k n) = 1 + (l + k) n mod n^2: of a product of many only the first factors need
// multiplying, the second ones add up. The factor is (x0, l). A product by it is one by the pair (x0, 0),
// which leaves out one of three products mod n: with the names of VectorPairs
//     u = (a0 b0 + m n) / R < 2 n,    v = (a1 b0 + C - m) / R mod n < (4 n^2 + R + n + R n) / R < 2 n.
// At last the sum s of k numbers l, below 2 k n <= R, is brought in: (z0, z1) (1 + s n) = (z0, z1 + z0 s mod
// n), two products mod n, and below 4 n before 2 n is taken off once.
class VectorPairFactors final : public Factors {
  public:
    // As VectorPairs holds them: n, 2 n, C - R in the limbs that it is subtracted from, and R^2 mod n in all
    // lanes.
    struct Constants {
        const vector::Modulus& n;
        const Limb* twice_n;
        const Limb* lift;
        const Limb* r_squared;
    };
    // All must outlive this. n has n_bits bits.
    VectorPairFactors(const VectorPairs& ring, const Constants& constants, std::size_t n_bits);

    std::size_t sum_words() const override { return vector::kLanes * limbs(); }
    double product_ns() const override;
    std::size_t most_factors() const override { return most_factors_; }

    void begin(Limb* z, Limb* sum, const Limb* factor) const override;
    void multiply(Limb* z, Limb* sum, const Limb* factor, Limb* scratch, const Fetch& next) const override;
    void enter_sum(Limb* sum, const Limb* const* values, std::size_t value_limbs,
                   Limb* scratch) const override;
    void settle(Limb* z, Limb* sum, Limb* scratch) const override;
    void make(Limb* z, const Limb* x, const Limb* inverses, Limb* scratch) const override;
    void begin_inverses(Limb* inverses) const override;
    void multiply_inverses(Limb* inverses, const Limb* one_over_b, Limb* scratch) const override;

  private:
    std::size_t limbs() const { return constants_.n.limbs; }
    // z = x y / R mod n, below 2 n, for x y < R n.
    void multiply_halves(Limb* z, const Limb* x, const Limb* y, Limb* scratch) const;

    const VectorPairs& ring_;
    Constants constants_;
    std::size_t most_factors_;
};

}  // namespace hekat
