// Rings that the ring tests are made of: primes near the ends of their range, and the paths they run on.
#pragma once

#include <vector>

#include "check.hpp"
#include "ring/ring.hpp"

namespace hekat::test {

// The paths whose ring kernels differ, as far as this processor has them.
inline std::vector<CpuPath> ring_paths() {
    std::vector<CpuPath> paths{CpuPath::kPortable};
    if (can_take(CpuPath::kIfma)) paths.push_back(CpuPath::kIfma);
    return paths;
}

// Miller-Rabin by enough bases for 64 bits.
inline bool is_prime(Limb n) {
    Limb odd = n - 1;
    unsigned twos = 0;
    for (; odd % 2 == 0; odd /= 2) ++twos;
    for (const Limb base : {2U, 3U, 5U, 7U, 11U, 13U, 17U, 19U, 23U, 29U, 31U, 37U}) {
        if (n % base == 0) return n == base;
        Limb x = ring::power_vartime(base, odd, n);
        bool is_witness = x != 1;
        for (unsigned i = 0; i < twos && is_witness; ++i, x = ring::multiply_vartime(x, x, n)) {
            is_witness = x != n - 1;
        }
        if (is_witness) return false;
    }
    return true;
}

// The first prime that is 1 mod 2 degree from `from` on, upwards or downwards.
inline Limb find_prime(Limb from, std::size_t degree, bool upwards) {
    Limb p = from / (2 * degree) * (2 * degree) + 1;
    if (upwards && p < from) p += 2 * degree;
    if (!upwards && p > from) p -= 2 * degree;
    while (!is_prime(p)) p = upwards ? p + 2 * degree : p - 2 * degree;
    return p;
}

inline Limb find_root(Limb p, std::size_t degree) {
    for (Limb x = 2;; ++x) {
        const Limb root = ring::power_vartime(x, (p - 1) / (2 * degree), p);
        if (ring::power_vartime(root, degree, p) == p - 1) return root;
    }
}

// Just below 2^50; just above 2^49, so that about half of all words are rejected; the smallest.
inline std::vector<Limb> end_primes(std::size_t degree) {
    return {find_prime((Limb{1} << 50) - 1, degree, false), find_prime((Limb{1} << 49) + 1, degree, true),
            find_prime(2 * degree + 1, degree, true)};
}

inline ring::Prime make_prime(Limb p, std::size_t degree, CpuPath path) {
    return ring::Prime(p, find_root(p, degree), degree, path);
}

// Residues; many are 0 or p - 1.
inline Limbs make_residues(Source& source, std::size_t count, Limb p) {
    Limbs residues = source.limbs(count);
    for (Limb& x : residues) x = x == ~Limb{0} ? p - 1 : x % p;
    return residues;
}

inline ring::Key make_key(unsigned char seed) {
    std::uint8_t bytes[ring::kKeyBytes];
    for (std::size_t i = 0; i < ring::kKeyBytes; ++i) bytes[i] = static_cast<std::uint8_t>(seed + 7 * i);
    return ring::Key(bytes);
}

}  // namespace hekat::test
