// Arithmetic on numbers of 52-bit limbs, eight numbers side by side, in AVX-512 IFMA instructions.
//
// A vector number of L limbs is L vectors of eight 64-bit words: word 8 i + lane is limb i of that lane's
// number. A limb is "clean" below 2^52; a "sum" is a word that has gathered halves of products. The
// multiply-adds read the low 52 bits of their factors, so factors have to be clean. A product of L limbs
// brings at most 2 L halves below 2^52 into a word; with six products' worth at most ever added up here,
// words stay below 12 L 2^52 < 2^64 for L <= kMaxVectorLimbs. A "plain number" is one number for all lanes,
// one word a limb.
//
// Everything is constant time. Call nothing here on a processor without the instructions (cpu/features.hpp).
#pragma once

#include <cstddef>

#include "bigint/limb.hpp"

namespace hekat::vector {

inline constexpr std::size_t kLanes = 8;
inline constexpr unsigned kLimbBits52 = 52;
inline constexpr Limb kLimbMask52 = (Limb{1} << kLimbBits52) - 1;
inline constexpr std::size_t kMaxVectorLimbs = 340;

// z (2 L sums) = a b, for clean a and b of L limbs. z is apart from both.
void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t limbs);

// z (a_limbs + b_limbs sums) = a b for clean a and b of so many limbs. z is apart from both.
void multiply(Limb* z, const Limb* a, std::size_t a_limbs, const Limb* b, std::size_t b_limbs);

// As the first, the product being added to the lower L sums of z; the upper L need not be set.
void multiply_onto_lower(Limb* z, const Limb* a, const Limb* b, std::size_t limbs);

// z (2 L sums) += a b.
void multiply_onto(Limb* z, const Limb* a, const Limb* b, std::size_t limbs);

// z (2 L sums) = a a, for clean a of L limbs below 2^(52 L - 1). scratch: L limbs. z is apart from a.
void square(Limb* z, const Limb* a, std::size_t limbs, Limb* scratch);

// One modulus n for all lanes.
struct Modulus {
    const Limb* n;   // plain, `limbs` clean limbs
    Limb n_inverse;  // -n^-1 mod 2^52
    std::size_t limbs;
};

// t (2 L sums) becomes t + m n for the clean m of L limbs that makes it a multiple of 2^(52 L): the quotient
// is in the upper L sums, the lower are used up.
void reduce(Limb* t, Limb* m, const Modulus& modulus);

// z (L clean limbs) = the number below 2^(52 L) of the L sums x. z may be x.
void clean(Limb* z, const Limb* x, std::size_t limbs);

// z = 2 a for clean a of L limbs below 2^(52 L - 1). z is apart from a.
void twice(Limb* z, const Limb* a, std::size_t limbs);

// z = x + y limb by limb, in sums. z may be either.
void add(Limb* z, const Limb* x, const Limb* y, std::size_t limbs);

// z = plain - x limb by limb, for plain[i] >= x[i].
void subtract_from(Limb* z, const Limb* plain, const Limb* x, std::size_t limbs);

// z = x - plain where x >= plain, else x; all clean. Sets taken[lane] to 1 where it subtracted, else to 0. z
// may be x. scratch: L limbs.
void subtract_once(Limb* z, const Limb* x, const Limb* plain, Limb* taken, std::size_t limbs, Limb* scratch);

// z = the plain number x in all lanes.
void spread(Limb* z, const Limb* x, std::size_t limbs);

}  // namespace hekat::vector
