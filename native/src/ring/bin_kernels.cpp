// The parts of sums by bin, slot by slot, in plain C++: one slice, in the order of the slots.
#include <algorithm>
#include <cstring>

#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {

void take_slice(Limb* z, const Limb* row, std::size_t, const Prime& prime) {
    std::memcpy(z, row, prime.degree * sizeof(Limb));
}

void transform_places(Limb* z, const Places& places, std::size_t, const BinFactors&, const Prime& prime) {
    std::fill(z, z + prime.degree, Limb{0});
    for (std::size_t i = 0; i < places.count; ++i) {
        const std::size_t place = places.data[i];
        Limb& coefficient = z[place % prime.degree];
        coefficient = reduce_once(coefficient + (place < prime.degree ? prime.value - 1 : 1), prime.value);
    }
    transform(z, prime);
}

// Sums of up to 2^28 products of residues stay below 2^128.
void add_products(Limb* sums, const Limb* x, const Limb* const* elements, std::size_t count,
                  std::size_t components, std::size_t words) {
    for (std::size_t k = 0; k < count; ++k, x += words) {
        for (std::size_t c = 0; c < components; ++c) {
            Limb* const low = sums + 2 * c * words;
            Limb* const high = low + words;
            const Limb* const element = elements[k] + c * words;
            for (std::size_t i = 0; i < words; ++i) {
                const Wide sum = (Wide{high[i]} << 64 | low[i]) + Wide{x[i]} * element[i];
                low[i] = low_limb(sum);
                high[i] = high_limb(sum);
            }
        }
    }
}

void put_slice(Limb* row, const Limb* sums, std::size_t, bool adds, const Prime& prime) {
    const Limb* const high = sums + prime.degree;
    for (std::size_t i = 0; i < prime.degree; ++i) {
        const auto sum = static_cast<Limb>((Wide{high[i]} << 64 | sums[i]) % prime.value);
        row[i] = adds ? reduce_once(row[i] + sum, prime.value) : sum;
    }
}

}  // namespace hekat::ring::portable
