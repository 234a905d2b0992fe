// What the native tests share: a check that counts, numbers read from text, numbers that carry far.
#pragma once

#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bigint/tile.hpp"

namespace hekat::test {

using Limbs = std::vector<Limb>;

// Scratch beyond what any test takes.
inline constexpr std::size_t kAmpleBytes = std::size_t{1} << 28;

inline int failure_count = 0;
inline int check_count = 0;

inline void check(bool holds, const std::string& what) {
    ++check_count;
    if (holds) return;
    ++failure_count;
    if (failure_count <= 20) std::fprintf(stderr, "failed: %s\n", what.c_str());
}

// What main returns; a run that checked nothing fails too.
inline int verdict() {
    std::printf("%d checks, %d failed\n", check_count, failure_count);
    return failure_count == 0 && check_count > 0 ? 0 : 1;
}

inline unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw std::invalid_argument("no hexadecimal digit");
}

inline std::size_t limbs_needed(const std::string& hex) { return (hex.size() + 15) / 16; }

// A hexadecimal number as `count` limbs.
inline Limbs limbs_of(const std::string& hex, std::size_t count) {
    Limbs limbs(count, 0);
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const std::size_t place = hex.size() - 1 - i;
        limbs.at(place / 16) |= static_cast<Limb>(hex_digit(hex[i])) << (4 * (place % 16));
    }
    return limbs;
}

// Limbs that carry: many all ones, many zero, the rest random.
class Source {
  public:
    explicit Source(std::uint64_t seed) : engine_(seed) {}

    Limb limb() {
        const Limb kind = engine_() % 8;
        if (kind < 2) return ~Limb{0};
        if (kind < 4) return 0;
        return kind == 4 ? Limb{1} << (engine_() % 64) : engine_();
    }

    Limbs limbs(std::size_t count) {
        Limbs result(count);
        for (Limb& x : result) x = limb();
        return result;
    }

  private:
    std::mt19937_64 engine_;
};

// Every set of tile kernels this machine can run.
inline std::vector<const TileKernels*> all_kernels() {
    std::vector<const TileKernels*> kernels;
    for (const CpuPath path : {CpuPath::kPortable, CpuPath::kX86}) {
        if (can_take(path)) kernels.push_back(&tile_kernels(path));
    }
    return kernels;
}

}  // namespace hekat::test
