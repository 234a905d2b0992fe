// Tables of powers, made once for a ring; everything here is public.
#include "ring/prime.hpp"

#include <bit>

namespace hekat::ring {
namespace {

std::size_t reverse_bits(std::size_t x, std::size_t degree) {
    std::size_t reversed = 0;
    for (std::size_t bit = 1; bit < degree; bit *= 2, x /= 2) reversed = 2 * reversed + x % 2;
    return reversed;
}

// Where entry `i` of a table stands in the order of vectors.
std::size_t place_in_vectors(std::size_t i, std::size_t degree) {
    const std::size_t level = std::bit_floor(i);
    if (level < degree / 8) return i;
    const std::size_t entries = level * 8 / degree;  // of one level for each block of eight coefficients
    const std::size_t group = (i - level) / (8 * entries) * (8 * entries);
    const std::size_t in_group = i - level - group;
    return level + group + 8 * (in_group % entries) + in_group / entries;
}

}  // namespace

Limb multiply_vartime(Limb a, Limb b, Limb p) { return static_cast<Limb>(Wide{a} * b % p); }

Limb power_vartime(Limb a, Limb e, Limb p) {
    Limb power = 1 % p;
    for (; e != 0; e /= 2) {
        if (e % 2 == 1) power = multiply_vartime(power, a, p);
        a = multiply_vartime(a, a, p);
    }
    return power;
}

Limb inverse_vartime(Limb a, Limb p) { return power_vartime(a % p, p - 2, p); }

Factor Prime::factor(Limb w) const { return {w, static_cast<Limb>((Wide{w} << factor_bits) / value)}; }

Prime::Prime(Limb p, Limb root, std::size_t ring_degree, CpuPath path)
    : value(p),
      bits(static_cast<unsigned>(std::bit_width(p))),
      reciprocal(static_cast<Limb>((Wide{1} << (51 + bits)) / p)),
      degree(ring_degree),
      factor_bits(path == CpuPath::kIfma ? 52 : 64),
      forward(ring_degree),
      inverse(ring_degree) {
    const Limb inverse_root = inverse_vartime(root, p);
    const Limb inverse_degree = inverse_vartime(degree, p);
    Limb power = 1;
    Limb inverse_power = 1;
    for (std::size_t exponent = 0; exponent < degree; ++exponent) {
        const std::size_t i = reverse_bits(exponent, degree);
        const std::size_t place = path == CpuPath::kIfma && i != 0 ? place_in_vectors(i, degree) : i;
        const Limb scale = i == 1 ? inverse_degree : 1;
        forward.set(place, factor(power));
        inverse.set(place, factor(i == 0 ? inverse_degree : multiply_vartime(inverse_power, scale, p)));
        power = multiply_vartime(power, root, p);
        inverse_power = multiply_vartime(inverse_power, inverse_root, p);
    }
}

}  // namespace hekat::ring
