// Numbers from key streams, word by word.
#include <algorithm>
#include <bit>

#include "bigint/secret_buffer.hpp"
#include "ring/portable.hpp"

namespace hekat::ring::portable {
namespace {

constexpr std::size_t kBlocks = 16;
constexpr std::size_t kWords = kBlocks * kBlockBytes / sizeof(Limb);
constexpr Limb kCbdMask = (Limb{1} << 21) - 1;

// Ones in x, below 2^21; no look-up.
inline Limb count_ones(Limb x) {
    x = x - (x >> 1 & 0x555555);
    x = (x & 0x333333) + (x >> 2 & 0x333333);
    x = (x + (x >> 4)) & 0x0f0f0f;
    return (x + (x >> 8) + (x >> 16)) & 0x1f;
}

inline std::uint8_t* bytes_of(Limb* words) { return reinterpret_cast<std::uint8_t*>(words); }

}  // namespace

void sample_uniform(Limb* a, const Prime& prime, const Stream& stream) {
    SecretBuffer held(kWords);
    Limb* const words = held.data();
    const Limb mask = (Limb{1} << prime.bits) - 1;
    std::uint32_t counter = 0;
    for (std::size_t found = 0; found < prime.degree; counter += kBlocks) {
        key_stream(bytes_of(words), stream, counter, kBlocks);
        for (std::size_t i = 0; i < kWords && found < prime.degree; ++i) {
            a[found] = words[i] & mask;
            found += a[found] < prime.value ? 1 : 0;
        }
    }
}

void sample_cbd(std::int8_t* e, std::size_t count, const Stream& stream) {
    SecretBuffer words(kWords);
    for (std::size_t done = 0; done < count; done += kWords) {
        key_stream(bytes_of(words.data()), stream, static_cast<std::uint32_t>(done / 8), kBlocks);
        for (std::size_t i = 0; i < std::min(kWords, count - done); ++i) {
            const Limb word = words.data()[i];
            e[done + i] =
                static_cast<std::int8_t>(count_ones(word & kCbdMask) - count_ones(word >> 21 & kCbdMask));
        }
    }
}

}  // namespace hekat::ring::portable
