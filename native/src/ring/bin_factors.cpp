// Powers of the root, in the order of the vector path's slices.
#include "ring/bin_factors.hpp"

#include <bit>

namespace hekat::ring {
namespace {

std::size_t reverse_bits(std::size_t x, std::size_t count) {
    std::size_t reversed = 0;
    for (std::size_t bit = 1; bit < count; bit *= 2, x /= 2) reversed = 2 * reversed + x % 2;
    return reversed;
}

}  // namespace

BinFactors::BinFactors(const Prime& prime, CpuPath path)
    : rows(path == CpuPath::kIfma ? kBinSlices * kBinRows * 8 : 0),
      nodes(path == CpuPath::kIfma ? prime.degree : 0) {
    if (path != CpuPath::kIfma) return;
    const std::size_t degree = prime.degree;
    const std::size_t vectors = degree / kBinParts;  // of a slice
    std::vector<Limb> powers(2 * degree, 1);
    // Entry N / 2 of a table is the root, in either order.
    const Limb root = prime.forward.values.data()[degree / 2];
    for (std::size_t i = 1; i < 2 * degree; ++i)
        powers[i] = multiply_vartime(powers[i - 1], root, prime.value);
    for (std::size_t slice = 0; slice < kBinSlices; ++slice) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
            const std::size_t block = 8 * lane + slice;
            // X^(N / 64) is this power of the root in the block.
            const std::size_t step = vectors * (2 * reverse_bits(block, kBinParts) + 1);
            for (std::size_t c = 0; c < 2 * kBinParts; ++c) {
                rows.data()[8 * (kBinRows * slice + c) + lane] = powers[(degree + step * c) % (2 * degree)];
            }
            for (std::size_t node = 1; node < vectors; ++node) {
                const std::size_t level = std::bit_floor(node);
                const std::size_t entry = (kBinParts + block) * level + node - level;
                nodes.set(8 * (vectors * slice + node) + lane,
                          prime.factor(powers[reverse_bits(entry, degree)]));
            }
        }
    }
}

}  // namespace hekat::ring
