// Unsigned integers of many limbs: add, subtract, compare, multiply, divide.
#pragma once

#include "bigint/limb.hpp"
#include "bigint/tile.hpp"

namespace hekat {

// z = a + b, all of count limbs; returns the carry, 0 or 1. z may be a or b. Constant time.
Limb add_limbs(Limb* z, const Limb* a, const Limb* b, std::size_t count);

// z = a - b mod 2^(64 count); returns the borrow, 0 or 1. z may be a or b. Constant time.
Limb subtract_limbs(Limb* z, const Limb* a, const Limb* b, std::size_t count);

// z += x for one limb x; returns the carry. Constant time.
Limb add_limb(Limb* z, Limb x, std::size_t count);

// z = condition ? a : z, for a mask of all ones or zero. Constant time.
void select_limbs(Limb* z, const Limb* a, Limb mask, std::size_t count);

// 1 where a < b, else 0. Constant time.
Limb is_below(const Limb* a, const Limb* b, std::size_t count);

// Bits of a: 0 for zero. Constant time.
std::size_t bit_length(const Limb* a, std::size_t count);

// The same; variable time.
std::size_t bit_length_vartime(const Limb* a, std::size_t count);

// z = a * b for a of a_tiles and b of b_tiles tiles; z of a_tiles + b_tiles tiles, apart from a and b.
// Constant time.
void multiply_tiles(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t a_tiles, const Limb* b,
                    std::size_t b_tiles);

// z += a * b for z of a_tiles + b_tiles tiles, apart from a and b; returns the carry. Constant time.
Limb multiply_tiles_onto(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t a_tiles,
                         const Limb* b, std::size_t b_tiles);

// z = a * a for a of `tiles` tiles; z of 2 * tiles tiles, apart from a. Constant time.
void square_tiles(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t tiles);

// z = a * b for any limb counts >= 1; z of a_count + b_count limbs, apart from a and b. Constant time.
void multiply_limbs(Limb* z, const Limb* a, std::size_t a_count, const Limb* b, std::size_t b_count);

// quotient (a_count limbs) = a / b, remainder (b_count limbs) = a mod b, for b != 0. Variable time.
// scratch: a_count + b_count + 1 limbs. Source: Knuth, The Art of Computer Programming, vol. 2,
// algorithm 4.3.1 D.
void divide_limbs_vartime(Limb* quotient, Limb* remainder, const Limb* a, std::size_t a_count, const Limb* b,
                          std::size_t b_count, Limb* scratch);

}  // namespace hekat
