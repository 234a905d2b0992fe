// Unsigned integers of many limbs, schoolbook.
#include "bigint/integer.hpp"

#include <bit>
#include <cstring>

namespace hekat {
namespace {

// z + carry_out 2^64 = a + b + carry, for carry in {0, 1}.
inline Limb add_with_carry(Limb a, Limb b, Limb& carry) {
    const Wide sum = static_cast<Wide>(a) + b + carry;
    carry = high_limb(sum);
    return low_limb(sum);
}

// z - borrow_out 2^64 = a - b - borrow, for borrow in {0, 1}.
inline Limb subtract_with_borrow(Limb a, Limb b, Limb& borrow) {
    const Wide difference = static_cast<Wide>(a) - b - borrow;
    borrow = high_limb(difference) & 1;
    return low_limb(difference);
}

// z = a << shift, 0 <= shift < 64; returns the limb shifted out.
Limb shift_left(Limb* z, const Limb* a, std::size_t count, unsigned shift) {
    Limb out = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Wide shifted = static_cast<Wide>(a[i]) << shift;
        z[i] = low_limb(shifted) | out;
        out = high_limb(shifted);
    }
    return out;
}

std::size_t significant_limbs(const Limb* a, std::size_t count) {
    while (count > 0 && a[count - 1] == 0) --count;
    return count;
}

// One step of algorithm D: u (n + 1 limbs) -= q * v for the digit q = floor(u / v); v has n >= 2 limbs, top
// bit set.
Limb divide_step(Limb* u, const Limb* v, std::size_t n) {
    const Wide top = (static_cast<Wide>(u[n]) << kLimbBits) | u[n - 1];
    // u[n] <= v[n-1] always; where they are equal the estimate is 2^64 - 1.
    Limb digit = ~Limb{0};
    Wide rest = static_cast<Wide>(u[n - 1]) + v[n - 1];
    if (u[n] < v[n - 1]) {
        digit = low_limb(top / v[n - 1]);
        rest = top - static_cast<Wide>(digit) * v[n - 1];
    }
    while (high_limb(rest) == 0 && static_cast<Wide>(digit) * v[n - 2] > ((rest << kLimbBits) | u[n - 2])) {
        --digit;
        rest += v[n - 1];
    }
    Limb carry = 0;  // of digit * v, and what was borrowed: at most 2^64 - 1 together
    for (std::size_t i = 0; i < n; ++i) {
        const Wide product = static_cast<Wide>(digit) * v[i] + carry;
        const Limb before = u[i];
        u[i] = before - low_limb(product);
        carry = high_limb(product) + static_cast<Limb>(before < low_limb(product));
    }
    const bool is_negative = u[n] < carry;
    u[n] -= carry;
    if (is_negative) {  // the estimate was one too large
        --digit;
        u[n] += add_limbs(u, u, v, n);
    }
    return digit;
}

}  // namespace

Limb add_limbs(Limb* z, const Limb* a, const Limb* b, std::size_t count) {
    Limb carry = 0;
    for (std::size_t i = 0; i < count; ++i) z[i] = add_with_carry(a[i], b[i], carry);
    return carry;
}

Limb subtract_limbs(Limb* z, const Limb* a, const Limb* b, std::size_t count) {
    Limb borrow = 0;
    for (std::size_t i = 0; i < count; ++i) z[i] = subtract_with_borrow(a[i], b[i], borrow);
    return borrow;
}

Limb add_limb(Limb* z, Limb x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const Wide sum = static_cast<Wide>(z[i]) + x;
        z[i] = low_limb(sum);
        x = high_limb(sum);
    }
    return x;
}

void select_limbs(Limb* z, const Limb* a, Limb mask, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) z[i] ^= (z[i] ^ a[i]) & mask;
}

Limb is_below(const Limb* a, const Limb* b, std::size_t count) {
    Limb borrow = 0;
    for (std::size_t i = 0; i < count; ++i) subtract_with_borrow(a[i], b[i], borrow);
    return borrow;
}

std::size_t bit_length(const Limb* a, std::size_t count) {
    Limb bits = 0;
    for (std::size_t i = 0; i < kLimbBits * count; ++i) {
        const Limb is_set = mask_of_bit((a[i / kLimbBits] >> (i % kLimbBits)) & 1);
        bits = (bits & ~is_set) | ((i + 1) & is_set);
    }
    return bits;
}

std::size_t bit_length_vartime(const Limb* a, std::size_t count) {
    count = significant_limbs(a, count);
    return count == 0 ? 0 : kLimbBits * count - static_cast<std::size_t>(std::countl_zero(a[count - 1]));
}

void multiply_tiles(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t a_tiles, const Limb* b,
                    std::size_t b_tiles) {
    std::memset(z, 0, b_tiles * kTileLimbs * sizeof(Limb));
    for (std::size_t i = 0; i < a_tiles; ++i) {
        Limb* top = z + (i + b_tiles) * kTileLimbs;
        std::memset(top, 0, kTileLimbs * sizeof(Limb));
        kernels.multiply_row(z + i * kTileLimbs, top, a + i * kTileLimbs, b, b_tiles);
    }
}

Limb multiply_tiles_onto(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t a_tiles,
                         const Limb* b, std::size_t b_tiles) {
    Limb w[kTileLimbs];
    Limb carry = 0;
    for (std::size_t i = 0; i < a_tiles; ++i) {
        std::memset(w, 0, sizeof w);
        kernels.multiply_row(z + i * kTileLimbs, w, a + i * kTileLimbs, b, b_tiles);
        // What a row runs over by belongs to its top tile, and the carry of that to the next row's.
        Limb* top = z + (i + b_tiles) * kTileLimbs;
        carry = kernels.add(top, top, w, carry, 1);
    }
    return carry;
}

void square_tiles(const TileKernels& kernels, Limb* z, const Limb* a, std::size_t tiles) {
    // The products of different limbs, each once: first within each tile, then tile i by the tiles above it.
    for (std::size_t i = 0; i < tiles; ++i) {
        kernels.multiply_triangle(z + 2 * i * kTileLimbs, a + i * kTileLimbs);
    }
    Limb w[kTileLimbs];
    Limb carry = 0;
    for (std::size_t i = 0; i + 1 < tiles; ++i) {
        std::memset(w, 0, sizeof w);
        kernels.multiply_row(z + (2 * i + 1) * kTileLimbs, w, a + i * kTileLimbs, a + (i + 1) * kTileLimbs,
                             tiles - i - 1);
        // The row ends below tile `top`; its carry belongs to the next row's top tile.
        Limb* top = z + (tiles + i) * kTileLimbs;
        carry = kernels.add(top, top, w, carry, 1);
    }
    // What is left goes to the last tile, where it fits: all of these products are below a^2 / 2.
    if (tiles > 0) add_limb(z + (2 * tiles - 1) * kTileLimbs, carry, kTileLimbs);
    kernels.double_and_add_squares(z, a, tiles);
}

void multiply_limbs(Limb* z, const Limb* a, std::size_t a_count, const Limb* b, std::size_t b_count) {
    std::memset(z, 0, b_count * sizeof(Limb));
    for (std::size_t i = 0; i < a_count; ++i) {
        Limb carry = 0;
        for (std::size_t j = 0; j < b_count; ++j) {
            const Wide sum = static_cast<Wide>(a[i]) * b[j] + z[i + j] + carry;
            z[i + j] = low_limb(sum);
            carry = high_limb(sum);
        }
        z[i + b_count] = carry;
    }
}

void divide_limbs_vartime(Limb* quotient, Limb* remainder, const Limb* a, std::size_t a_count, const Limb* b,
                          std::size_t b_count, Limb* scratch) {
    std::memset(quotient, 0, a_count * sizeof(Limb));
    std::memset(remainder, 0, b_count * sizeof(Limb));
    const std::size_t m = significant_limbs(a, a_count);
    const std::size_t n = significant_limbs(b, b_count);
    if (m < n) {
        std::memcpy(remainder, a, m * sizeof(Limb));
        return;
    }
    if (n == 1) {
        Wide rest = 0;
        for (std::size_t i = m; i-- > 0;) {
            rest = (rest << kLimbBits) | a[i];
            quotient[i] = low_limb(rest / b[0]);
            rest %= b[0];
        }
        remainder[0] = low_limb(rest);
        return;
    }
    Limb* u = scratch;
    Limb* v = scratch + m + 1;
    const auto shift = static_cast<unsigned>(std::countl_zero(b[n - 1]));
    shift_left(v, b, n, shift);
    u[m] = shift_left(u, a, m, shift);
    for (std::size_t j = m - n + 1; j-- > 0;) quotient[j] = divide_step(u + j, v, n);
    for (std::size_t i = 0; i < n; ++i) {
        const Wide pair = (static_cast<Wide>(u[i + 1]) << kLimbBits) | u[i];
        remainder[i] = low_limb(pair >> shift);
    }
}

}  // namespace hekat
