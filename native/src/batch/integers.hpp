// Batches of unsigned integers: add, subtract, multiply, divide, item by item.
#pragma once

#include "batch/residues.hpp"
#include "cpu/features.hpp"

namespace hekat {

// z_i = a_i + b_i, of max(a.limbs, b.limbs) + 1 limbs.
void add_integers(ThreadPool& pool, Limb* z, const Items& a, const Items& b, std::size_t count);

// z_i = |a_i - b_i|, of max(a.limbs, b.limbs) limbs, and below_i = a_i < b_i.
void subtract_integers(ThreadPool& pool, Limb* z, bool* below, const Items& a, const Items& b,
                       std::size_t count);

// z_i = a_i b_i, of a.limbs + b.limbs limbs.
void multiply_integers(ThreadPool& pool, CpuPath path, Limb* z, const Items& a, const Items& b,
                       std::size_t count);

// quotient_i (a.limbs limbs) = a_i / b_i and remainder_i (b.limbs limbs) = a_i mod b_i; no b_i is zero.
// Variable time.
void divide_integers(ThreadPool& pool, Limb* quotient, Limb* remainder, const Items& a, const Items& b,
                     std::size_t count);

}  // namespace hekat
