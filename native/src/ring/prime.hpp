// One prime of a ring of polynomials: its constants, and the factors that its transforms multiply by.
#pragma once

#include <cstddef>
#include <vector>

#include "bigint/limb.hpp"
#include "cpu/features.hpp"

namespace hekat::ring {

inline constexpr unsigned kMaxPrimeBits = 50;
inline constexpr std::size_t kMinDegree = 1024;
inline constexpr std::size_t kMaxDegree = 8192;

// Public words from the start of a cache line.
class Table {
  public:
    explicit Table(std::size_t count) : lines_((count + 7) / 8) {}
    Limb* data() { return lines_.data()->words; }
    const Limb* data() const { return lines_.data()->words; }

  private:
    struct alignas(64) Line {
        Limb words[8];
    };
    std::vector<Line> lines_;
};

// A residue w and floor(w 2^f / p), f being Prime::factor_bits: a product by w takes an estimate of its
// quotient by p from the second (Shoup).
struct Factor {
    Limb value;
    Limb quotient;
};

struct Factors {
    explicit Factors(std::size_t count) : values(count), quotients(count) {}
    void set(std::size_t i, Factor factor) {
        values.data()[i] = factor.value;
        quotients.data()[i] = factor.quotient;
    }

    Table values;
    Table quotients;
};

// A prime p < 2^50 with p = 1 mod 2N. Entry m + i of `forward`, for m a power of two and i < m, is
// psi^brv(m + i), brv reversing the bits of a number below N; `inverse` has the inverses, its entry 1 times
// 1 / N, and 1 / N as entry 0. For path ifma the last three levels, which have c = 1, 2 or 4 entries for each
// block of eight coefficients, are in the order of vectors: entry k of the c of block 8 g + i, that is
// m + 8 g c + c i + k, stands at m + 8 g c + 8 k + i.
struct Prime {
    // root: psi, a primitive 2N-th root of unity mod p.
    Prime(Limb p, Limb root, std::size_t ring_degree, CpuPath path);

    Factor factor(Limb w) const;

    Limb value;
    unsigned bits;
    Limb reciprocal;  // floor(2^(51 + bits) / p)
    std::size_t degree;
    unsigned factor_bits;  // 52 for path ifma, else 64
    Factors forward;
    Factors inverse;
};

// a b mod p, a^e mod p, 1 / a mod p; variable time.
Limb multiply_vartime(Limb a, Limb b, Limb p);
Limb power_vartime(Limb a, Limb e, Limb p);
Limb inverse_vartime(Limb a, Limb p);

}  // namespace hekat::ring
