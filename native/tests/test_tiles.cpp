// Every tile kernel against a product of single limbs, on limbs that carry.
#include <cstring>

#include "bigint/integer.hpp"
#include "check.hpp"

namespace {

using hekat::kTileLimbs;
using hekat::Limb;
using hekat::TileKernels;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

constexpr int kRounds = 400;

// x + y, x the longer.
Limbs sum_of(Limbs x, const Limbs& y) {
    Limbs padded = y;
    padded.resize(x.size(), 0);
    hekat::add_limbs(x.data(), x.data(), padded.data(), x.size());
    return x;
}

Limbs product_of(const Limbs& a, const Limbs& b) {
    Limbs z(a.size() + b.size());
    hekat::multiply_limbs(z.data(), a.data(), a.size(), b.data(), b.size());
    return z;
}

void test_multiply_row(const TileKernels& kernels, std::size_t tiles, Source& source, bool extreme) {
    const std::size_t width = tiles * kTileLimbs;
    Limbs a = source.limbs(kTileLimbs);
    Limbs b = source.limbs(width);
    Limbs z = source.limbs(width);
    Limbs w = source.limbs(kTileLimbs);
    if (extreme) {
        for (Limbs* limbs : {&a, &b, &z, &w}) limbs->assign(limbs->size(), ~Limb{0});
    }
    const Limbs expected = sum_of(sum_of(product_of(a, b), z), w);
    kernels.multiply_row(z.data(), w.data(), a.data(), b.data(), tiles);
    z.insert(z.end(), w.begin(), w.end());
    check(z == expected, std::string(kernels.name) + ": multiply_row");
}

void test_reduce_tile(const TileKernels& kernels, Source& source, bool extreme) {
    Limbs n = source.limbs(kTileLimbs);
    Limbs z = source.limbs(kTileLimbs);
    if (extreme) {
        n.assign(kTileLimbs, ~Limb{0});
        z.assign(kTileLimbs, ~Limb{0});
    }
    n[0] |= 1;
    Limb inverse = n[0];
    for (int step = 0; step < 6; ++step) inverse *= 2 - n[0] * inverse;
    Limbs m(kTileLimbs);
    Limbs w(kTileLimbs);
    kernels.reduce_tile(m.data(), w.data(), z.data(), n.data(), Limb{0} - inverse);
    Limbs expected(kTileLimbs, 0);
    expected.insert(expected.end(), w.begin(), w.end());
    check(sum_of(product_of(m, n), z) == expected, std::string(kernels.name) + ": reduce_tile");
}

void test_square(const TileKernels& kernels, std::size_t tiles, Source& source, bool extreme) {
    Limbs a = source.limbs(tiles * kTileLimbs);
    if (extreme) a.assign(a.size(), ~Limb{0});
    Limbs z = source.limbs(2 * a.size());
    hekat::square_tiles(kernels, z.data(), a.data(), tiles);
    check(z == product_of(a, a), std::string(kernels.name) + ": square_tiles");
}

void test_multiply(const TileKernels& kernels, std::size_t a_tiles, std::size_t b_tiles, Source& source) {
    const Limbs a = source.limbs(a_tiles * kTileLimbs);
    const Limbs b = source.limbs(b_tiles * kTileLimbs);
    Limbs z = source.limbs(a.size() + b.size());
    hekat::multiply_tiles(kernels, z.data(), a.data(), a_tiles, b.data(), b_tiles);
    check(z == product_of(a, b), std::string(kernels.name) + ": multiply_tiles");
}

void test_add_and_subtract(const TileKernels& kernels, std::size_t tiles, Source& source) {
    const std::size_t width = tiles * kTileLimbs;
    const Limbs a = source.limbs(width);
    const Limbs b = source.limbs(width);
    for (Limb carry = 0; carry < 2; ++carry) {
        Limbs expected(width);
        Limb out = hekat::add_limbs(expected.data(), a.data(), b.data(), width);
        out |= hekat::add_limb(expected.data(), carry, width);
        Limbs z = a;
        check(kernels.add(z.data(), z.data(), b.data(), carry, tiles) == out && z == expected,
              std::string(kernels.name) + ": add");
    }
    Limbs expected(width);
    const Limb borrow = hekat::subtract_limbs(expected.data(), a.data(), b.data(), width);
    Limbs z = b;
    check(kernels.subtract(z.data(), a.data(), z.data(), tiles) == borrow && z == expected,
          std::string(kernels.name) + ": subtract");
}

void test_select_entry(const TileKernels& kernels, std::size_t limb_count, Source& source) {
    constexpr std::size_t kEntries = 32;
    const Limbs entries = source.limbs(kEntries * limb_count);
    for (std::size_t index = 0; index < kEntries; ++index) {
        Limbs z = source.limbs(limb_count);
        kernels.select_entry(z.data(), entries.data(), kEntries, limb_count, index);
        check(std::memcmp(z.data(), entries.data() + index * limb_count, limb_count * sizeof(Limb)) == 0,
              std::string(kernels.name) + ": select_entry");
    }
}

}  // namespace

int main() {
    Source source(1);
    for (const TileKernels* kernels : hekat::test::all_kernels()) {
        for (std::size_t tiles = 1; tiles <= 9; ++tiles) {
            for (int round = 0; round < kRounds; ++round) {
                test_multiply_row(*kernels, tiles, source, round == 0);
                test_square(*kernels, tiles, source, round == 0);
                test_multiply(*kernels, tiles, 1 + static_cast<std::size_t>(round) % 9, source);
                test_add_and_subtract(*kernels, tiles, source);
            }
        }
        for (int round = 0; round < kRounds; ++round) test_reduce_tile(*kernels, source, round == 0);
        for (const std::size_t limb_count : {1U, 2U, 8U, 15U, 16U, 17U, 32U, 47U, 64U}) {
            test_select_entry(*kernels, limb_count, source);
        }
    }
    return hekat::test::verdict();
}
