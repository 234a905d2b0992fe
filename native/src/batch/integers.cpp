// Batches of unsigned integers.
#include "batch/integers.hpp"

#include <algorithm>
#include <cstring>

#include "batch/integers_in_lanes.hpp"
#include "bigint/integer.hpp"
#include "bigint/tile.hpp"

namespace hekat {
namespace {

// From here up a product goes in lanes or through whole tiles, padding included.
constexpr std::size_t kMinLimbs = 6;

double limbs_of(const Items& a, const Items& b) { return static_cast<double>(a.limbs + b.limbs); }

// Item i with zero limbs appended up to `limbs`.
void widen_item(Limb* z, const Items& x, std::size_t i, std::size_t limbs) {
    std::memcpy(z, x.at(i), x.limbs * sizeof(Limb));
    std::memset(z + x.limbs, 0, (limbs - x.limbs) * sizeof(Limb));
}

}  // namespace

void add_integers(ThreadPool& pool, Limb* z, const Items& a, const Items& b, std::size_t count) {
    const std::size_t limbs = std::max(a.limbs, b.limbs);
    pool.run(count, 2 * limbs_of(a, b), [&](std::size_t begin, std::size_t end) {
        SecretBuffer other(limbs);
        for (std::size_t i = begin; i < end; ++i) {
            Limb* sum = z + i * (limbs + 1);
            widen_item(sum, a, i, limbs);
            widen_item(other.data(), b, i, limbs);
            sum[limbs] = add_limbs(sum, sum, other.data(), limbs);
        }
    });
}

void subtract_integers(ThreadPool& pool, Limb* z, bool* below, const Items& a, const Items& b,
                       std::size_t count) {
    const std::size_t limbs = std::max(a.limbs, b.limbs);
    pool.run(count, 3 * limbs_of(a, b), [&](std::size_t begin, std::size_t end) {
        SecretBuffer other(limbs);
        for (std::size_t i = begin; i < end; ++i) {
            Limb* difference = z + i * limbs;
            widen_item(difference, a, i, limbs);
            widen_item(other.data(), b, i, limbs);
            const Limb borrow = subtract_limbs(difference, difference, other.data(), limbs);
            // Negated where it came out below zero: complement, and add the borrow.
            const Limb mask = mask_of_bit(borrow);
            for (std::size_t k = 0; k < limbs; ++k) difference[k] ^= mask;
            add_limb(difference, borrow, limbs);
            below[i] = borrow != 0;
        }
    });
}

void multiply_integers(ThreadPool& pool, CpuPath path, Limb* z, const Items& a, const Items& b,
                       std::size_t count) {
    const std::size_t z_limbs = a.limbs + b.limbs;
    const double item_ns = static_cast<double>(a.limbs) * static_cast<double>(b.limbs) + 50;
    if (std::min(a.limbs, b.limbs) < kMinLimbs) {
        pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                multiply_limbs(z + i * z_limbs, a.at(i), a.limbs, b.at(i), b.limbs);
            }
        });
        return;
    }
    if (path == CpuPath::kIfma && fit_lanes(a, b)) {
        multiply_integers_in_lanes(pool, z, a, b, count);
        return;
    }
    const TileKernels& kernels = tile_kernels(path);
    const std::size_t a_width = tiles_for(a.limbs) * kTileLimbs;
    const std::size_t b_width = tiles_for(b.limbs) * kTileLimbs;
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(2 * (a_width + b_width));
        Limb* left = memory.data();
        Limb* right = left + a_width;
        Limb* product = right + b_width;
        for (std::size_t i = begin; i < end; ++i) {
            widen_item(left, a, i, a_width);
            widen_item(right, b, i, b_width);
            multiply_tiles(kernels, product, left, a_width / kTileLimbs, right, b_width / kTileLimbs);
            std::memcpy(z + i * z_limbs, product, z_limbs * sizeof(Limb));
        }
    });
}

void divide_integers(ThreadPool& pool, Limb* quotient, Limb* remainder, const Items& a, const Items& b,
                     std::size_t count) {
    const double item_ns = 2 * static_cast<double>(a.limbs) * static_cast<double>(b.limbs) + 100;
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer scratch(a.limbs + b.limbs + 1);
        for (std::size_t i = begin; i < end; ++i) {
            divide_limbs_vartime(quotient + i * a.limbs, remainder + i * b.limbs, a.at(i), a.limbs, b.at(i),
                                 b.limbs, scratch.data());
        }
    });
}

}  // namespace hekat
