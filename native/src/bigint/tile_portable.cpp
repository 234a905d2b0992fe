// Tile products in portable C++: column by column, low words and high words summed apart.
#include <cstring>

#include "bigint/tile.hpp"

// Before a loop of few rounds, their number known: makes straight code of it.
#if defined(__clang__)
#define HEKAT_UNROLL _Pragma("unroll")
#else
#define HEKAT_UNROLL _Pragma("GCC unroll 16")
#endif

namespace hekat {
namespace {

// The sum of one column's products: low words and high words apart, each with its own count of carries, so
// that a product costs two additions with carry and no chain through three words.
struct Column {
    Limb low = 0;
    Limb low_carries = 0;
    Limb high = 0;
    Limb high_carries = 0;

    void add(Limb x) { low_carries += static_cast<Limb>(__builtin_add_overflow(low, x, &low)); }

    void add_product(Limb a, Limb b) {
        const Wide product = static_cast<Wide>(a) * b;
        add(low_limb(product));
        high_carries += static_cast<Limb>(__builtin_add_overflow(high, high_limb(product), &high));
    }

    // The column's limb; the rest becomes the start of the next column.
    Limb take() {
        const Limb limb = low;
        const Limb carry = static_cast<Limb>(__builtin_add_overflow(low_carries, high, &low));
        low_carries = high_carries + carry;
        high = 0;
        high_carries = 0;
        return limb;
    }
};

void multiply_row(Limb* z, Limb* w, const Limb* a, const Limb* b, std::size_t tiles) {
    for (std::size_t tile = 0; tile < tiles; ++tile, z += kTileLimbs, b += kTileLimbs) {
        Limb high[kTileLimbs];
        Column column;
        HEKAT_UNROLL
        for (std::size_t k = 0; k < kTileLimbs; ++k) {
            column.add(z[k]);
            column.add(w[k]);
            HEKAT_UNROLL
            for (std::size_t i = 0; i <= k; ++i) column.add_product(a[i], b[k - i]);
            z[k] = column.take();
        }
        HEKAT_UNROLL
        for (std::size_t k = kTileLimbs; k < 2 * kTileLimbs - 1; ++k) {
            HEKAT_UNROLL
            for (std::size_t i = k - kTileLimbs + 1; i < kTileLimbs; ++i) column.add_product(a[i], b[k - i]);
            high[k - kTileLimbs] = column.take();
        }
        high[kTileLimbs - 1] = column.take();
        std::memcpy(w, high, sizeof high);
    }
}

void reduce_tile(Limb* m, Limb* w, const Limb* z, const Limb* n, Limb n_inverse) {
    Column column;
    HEKAT_UNROLL
    for (std::size_t k = 0; k < kTileLimbs; ++k) {
        column.add(z[k]);
        HEKAT_UNROLL
        for (std::size_t i = 0; i < k; ++i) column.add_product(m[i], n[k - i]);
        m[k] = column.low * n_inverse;
        column.add_product(m[k], n[0]);
        column.take();
    }
    HEKAT_UNROLL
    for (std::size_t k = kTileLimbs; k < 2 * kTileLimbs - 1; ++k) {
        HEKAT_UNROLL
        for (std::size_t i = k - kTileLimbs + 1; i < kTileLimbs; ++i) column.add_product(m[i], n[k - i]);
        w[k - kTileLimbs] = column.take();
    }
    w[kTileLimbs - 1] = column.take();
}

void multiply_triangle(Limb* z, const Limb* a) {
    Column column;
    z[0] = 0;
    HEKAT_UNROLL
    for (std::size_t k = 1; k < 2 * kTileLimbs - 1; ++k) {
        const std::size_t first = k < kTileLimbs ? 0 : k - kTileLimbs + 1;
        HEKAT_UNROLL
        for (std::size_t i = first; 2 * i < k; ++i) column.add_product(a[i], a[k - i]);
        z[k] = column.take();
    }
    z[2 * kTileLimbs - 1] = column.take();
}

// Two limbs at a time, in what follows: of the two additions at most one carries, as the first that does
// leaves room for the second.
Wide pair_at(const Limb* x) { return (static_cast<Wide>(x[1]) << kLimbBits) | x[0]; }

void double_and_add_squares(Limb* z, const Limb* a, std::size_t tiles) {
    Limb shifted_out = 0;
    Limb carry = 0;
    for (std::size_t i = 0; i < tiles * kTileLimbs; ++i) {
        Wide sum = (pair_at(z + 2 * i) << 1) | shifted_out;
        shifted_out = z[2 * i + 1] >> (kLimbBits - 1);
        const Limb first =
            static_cast<Limb>(__builtin_add_overflow(sum, static_cast<Wide>(a[i]) * a[i], &sum));
        carry = first + static_cast<Limb>(__builtin_add_overflow(sum, static_cast<Wide>(carry), &sum));
        z[2 * i] = low_limb(sum);
        z[2 * i + 1] = high_limb(sum);
    }
}

Limb add(Limb* z, const Limb* a, const Limb* b, Limb carry, std::size_t tiles) {
    for (std::size_t i = 0; i < tiles * kTileLimbs; i += 2) {
        Wide sum = 0;
        const Limb first = static_cast<Limb>(__builtin_add_overflow(pair_at(a + i), pair_at(b + i), &sum));
        carry = first + static_cast<Limb>(__builtin_add_overflow(sum, static_cast<Wide>(carry), &sum));
        z[i] = low_limb(sum);
        z[i + 1] = high_limb(sum);
    }
    return carry;
}

Limb subtract(Limb* z, const Limb* a, const Limb* b, std::size_t tiles) {
    Limb borrow = 0;
    for (std::size_t i = 0; i < tiles * kTileLimbs; i += 2) {
        Wide difference = 0;
        const Limb first =
            static_cast<Limb>(__builtin_sub_overflow(pair_at(a + i), pair_at(b + i), &difference));
        borrow = first + static_cast<Limb>(
                             __builtin_sub_overflow(difference, static_cast<Wide>(borrow), &difference));
        z[i] = low_limb(difference);
        z[i + 1] = high_limb(difference);
    }
    return borrow;
}

void select_entry(Limb* z, const Limb* entries, std::size_t entry_count, std::size_t limb_count, Limb index) {
    constexpr std::size_t kTogether = 16;
    std::size_t start = 0;
    for (; start + kTogether <= limb_count; start += kTogether) {
        Limb sum[kTogether] = {};
        const Limb* at = entries + start;
        for (std::size_t entry = 0; entry < entry_count; ++entry, at += limb_count) {
            const Limb mask = mask_of_equal(entry, index);
            HEKAT_UNROLL
            for (std::size_t i = 0; i < kTogether; ++i) sum[i] |= at[i] & mask;
        }
        std::memcpy(z + start, sum, sizeof sum);
    }
    for (; start < limb_count; ++start) {
        Limb sum = 0;
        for (std::size_t entry = 0; entry < entry_count; ++entry) {
            sum |= entries[entry * limb_count + start] & mask_of_equal(entry, index);
        }
        z[start] = sum;
    }
}

}  // namespace

const TileKernels& portable_tile_kernels() {
    static constexpr TileKernels kernels{"portable C++",         multiply_row, reduce_tile, multiply_triangle,
                                         double_and_add_squares, add,          subtract,    select_entry};
    return kernels;
}

}  // namespace hekat
