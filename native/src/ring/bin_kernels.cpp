// The parts of sums by bin, slot by slot, in plain C++: one slice, in the order of the slots.
#include <algorithm>

#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {

void take_slice(Limb* z, std::size_t stride, const Limb* row, std::size_t, const Prime& prime) {
    for (std::size_t i = 0; i < prime.degree; i += 8, z += stride) std::copy(row + i, row + i + 8, z);
}

void transform_plaintext(Limb* z, const SparsePlaintext& plaintext, std::size_t, const BinFactors&,
                         const Prime& prime) {
    const PlaceLayout layout(prime.degree);
    const std::uint8_t* next = plaintext.layers;
    std::fill(z, z + prime.degree, Limb{0});
    for (std::size_t group = 0; group < layout.groups; ++group) {
        for (std::uint32_t layer = 0; layer < plaintext.depths[group]; ++layer) {
            for (std::size_t i = 0; i < layout.members; ++i, ++next) {
                if (*next == SparsePlaintext::kNoPart) continue;
                // X^-N = -1.
                const bool is_negative = *next < kPlaceParts;
                Limb& coefficient = z[*next % kPlaceParts * layout.places + i * layout.groups + group];
                coefficient = reduce_once(coefficient + (is_negative ? prime.value - 1 : 1), prime.value);
            }
        }
    }
    transform(z, prime);
}

// Sums of up to 2^28 products of residues stay below 2^128.
void add_products(Limb* sums, const Limb* x, const Limb* elements, const BinProducts& products) {
    for (std::size_t v = 0; v < products.words / 8; ++v) {
        for (std::size_t k = 0; k < products.count; ++k) {
            const Limb* const factors = x + k * products.x_stride + 8 * v;
            for (std::size_t c = 0; c < products.components; ++c) {
                Limb* const low = sums + v * products.sums_stride + 16 * c;
                Limb* const high = low + 8;
                const Limb* const element = elements + v * products.stride + products.offsets[k] + 8 * c;
                for (std::size_t i = 0; i < 8; ++i) {
                    const Wide sum = (Wide{high[i]} << 64 | low[i]) + Wide{factors[i]} * element[i];
                    low[i] = low_limb(sum);
                    high[i] = high_limb(sum);
                }
            }
        }
    }
}

void put_slice(Limb* row, const Limb* sums, std::size_t stride, std::size_t, bool adds, const Prime& prime) {
    for (std::size_t first = 0; first < prime.degree; first += 8, sums += stride) {
        for (std::size_t i = 0; i < 8; ++i) {
            const auto sum = static_cast<Limb>((Wide{sums[8 + i]} << 64 | sums[i]) % prime.value);
            row[first + i] = adds ? reduce_once(row[first + i] + sum, prime.value) : sum;
        }
    }
}

void add_windows(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count,
                 std::size_t window) {
    const auto low = static_cast<std::int32_t>(window - 1);
    for (std::size_t n = 0; n < count; ++n, row += window) {
        const std::int32_t digit = digits[n];
        if (digit < 0) continue;
        const Limb* const from = row - (digit & low);
        Limb* const to = sums + (digit & ~low);
        for (std::size_t i = 0; i < window; ++i) to[i] += from[i];
    }
}

void reduce(Limb* z, std::size_t count, const Prime& prime) {
    for (std::size_t i = 0; i < count; ++i) z[i] %= prime.value;
}

}  // namespace hekat::ring::portable
