// Numbers known by their residues as fractions of their modulus: hekat.engine.ring.interface says what comes
// out, and why it is exact.
#pragma once

#include <vector>

#include "batch/thread_pool.hpp"
#include "ring/kernels.hpp"

namespace hekat::ring {

class Fractions {
  public:
    // 1 to kMostModulusPrimes different primes below 2^50; bits from 1 to 128.
    Fractions(const std::vector<Limb>& primes, unsigned bits, CpuPath path);

    std::size_t prime_count() const { return digits_.prime_count; }

    // z (count, 2 limbs) = floor(u 2^bits / q) of u's residues (count, primes).
    void floor(ThreadPool& pool, Limb* z, const Limb* residues, std::size_t count) const;

  private:
    const Kernels& kernels_;
    std::vector<Limb> factors_;
    FractionDigits digits_;
};

}  // namespace hekat::ring
