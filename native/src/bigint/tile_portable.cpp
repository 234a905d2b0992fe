// Tile products in portable C++: column by column, low words and high words summed apart.
#include <cstring>

#include "bigint/tile.hpp"

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
        for (std::size_t k = 0; k < kTileLimbs; ++k) {
            column.add(z[k]);
            column.add(w[k]);
            for (std::size_t i = 0; i <= k; ++i) column.add_product(a[i], b[k - i]);
            z[k] = column.take();
        }
        for (std::size_t k = kTileLimbs; k < 2 * kTileLimbs - 1; ++k) {
            for (std::size_t i = k - kTileLimbs + 1; i < kTileLimbs; ++i) column.add_product(a[i], b[k - i]);
            high[k - kTileLimbs] = column.take();
        }
        high[kTileLimbs - 1] = column.take();
        std::memcpy(w, high, sizeof high);
    }
}

void reduce_tile(Limb* m, Limb* w, const Limb* z, const Limb* n, Limb n_inverse) {
    Column column;
    for (std::size_t k = 0; k < kTileLimbs; ++k) {
        column.add(z[k]);
        for (std::size_t i = 0; i < k; ++i) column.add_product(m[i], n[k - i]);
        m[k] = column.low * n_inverse;
        column.add_product(m[k], n[0]);
        column.take();
    }
    for (std::size_t k = kTileLimbs; k < 2 * kTileLimbs - 1; ++k) {
        for (std::size_t i = k - kTileLimbs + 1; i < kTileLimbs; ++i) column.add_product(m[i], n[k - i]);
        w[k - kTileLimbs] = column.take();
    }
    w[kTileLimbs - 1] = column.take();
}

void multiply_triangle(Limb* z, const Limb* a) {
    Column column;
    z[0] = 0;
    for (std::size_t k = 1; k < 2 * kTileLimbs - 1; ++k) {
        const std::size_t first = k < kTileLimbs ? 0 : k - kTileLimbs + 1;
        for (std::size_t i = first; 2 * i < k; ++i) column.add_product(a[i], a[k - i]);
        z[k] = column.take();
    }
    z[2 * kTileLimbs - 1] = column.take();
}

void double_and_add_squares(Limb* z, const Limb* a, std::size_t tiles) {
    Limb shifted_out = 0;
    Limb carry = 0;
    for (std::size_t i = 0; i < tiles * kTileLimbs; ++i) {
        const Wide square = static_cast<Wide>(a[i]) * a[i];
        const Limb parts[2] = {low_limb(square), high_limb(square)};
        for (std::size_t k = 2 * i; k < 2 * i + 2; ++k) {
            const Limb doubled = (z[k] << 1) | shifted_out;
            shifted_out = z[k] >> (kLimbBits - 1);
            const Wide sum = static_cast<Wide>(doubled) + parts[k - 2 * i] + carry;
            z[k] = low_limb(sum);
            carry = high_limb(sum);
        }
    }
}

Limb add(Limb* z, const Limb* a, const Limb* b, Limb carry, std::size_t tiles) {
    for (std::size_t i = 0; i < tiles * kTileLimbs; ++i) {
        const Wide sum = static_cast<Wide>(a[i]) + b[i] + carry;
        z[i] = low_limb(sum);
        carry = high_limb(sum);
    }
    return carry;
}

Limb subtract(Limb* z, const Limb* a, const Limb* b, std::size_t tiles) {
    Limb borrow = 0;
    for (std::size_t i = 0; i < tiles * kTileLimbs; ++i) {
        const Wide difference = static_cast<Wide>(a[i]) - b[i] - borrow;
        z[i] = low_limb(difference);
        borrow = high_limb(difference) & 1;
    }
    return borrow;
}

void select_entry(Limb* z, const Limb* entries, std::size_t entry_count, std::size_t limb_count, Limb index) {
    std::memset(z, 0, limb_count * sizeof(Limb));
    for (std::size_t entry = 0; entry < entry_count; ++entry, entries += limb_count) {
        const Limb mask = mask_of_equal(entry, index);
        for (std::size_t i = 0; i < limb_count; ++i) z[i] |= entries[i] & mask;
    }
}

}  // namespace

const TileKernels& portable_tile_kernels() {
    static constexpr TileKernels kernels{"portable C++",         multiply_row, reduce_tile, multiply_triangle,
                                         double_and_add_squares, add,          subtract,    select_entry};
    return kernels;
}

}  // namespace hekat
