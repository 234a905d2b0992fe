// ChaCha20 (RFC 8439, section 2.3), four blocks side by side.
#include <algorithm>
#include <bit>
#include <cstring>

#include "bigint/secret_buffer.hpp"
#include "ring/portable.hpp"

static_assert(std::endian::native == std::endian::little, "key streams are written as words of the machine");

namespace hekat::ring::portable {
namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::uint32_t kConstants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

// One word of the state, of each block.
typedef std::uint32_t Word __attribute__((vector_size(4 * kBlocks)));

struct State {
    Word words[16];
};

template <unsigned bits>
inline Word rotate(Word x) {
    return x << bits | x >> (32 - bits);
}

inline void quarter_round(State& x, unsigned a, unsigned b, unsigned c, unsigned d) {
    Word* w = x.words;
    w[a] += w[b];
    w[d] = rotate<16>(w[d] ^ w[a]);
    w[c] += w[d];
    w[b] = rotate<12>(w[b] ^ w[c]);
    w[a] += w[b];
    w[d] = rotate<8>(w[d] ^ w[a]);
    w[c] += w[d];
    w[b] = rotate<7>(w[b] ^ w[c]);
}

inline void double_round(State& x) {
    for (unsigned i = 0; i < 4; ++i) quarter_round(x, i, 4 + i, 8 + i, 12 + i);
    for (unsigned i = 0; i < 4; ++i) {
        quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
}

}  // namespace

void key_stream(std::uint8_t* out, const Stream& stream, std::uint32_t counter, std::size_t block_count) {
    SecretArray<State, 2> states;
    SecretArray<std::uint32_t, 16 * kBlocks> blocks;
    State& start = states.items[0];
    State& x = states.items[1];
    for (unsigned i = 0; i < 4; ++i) start.words[i] = Word{} + kConstants[i];
    for (unsigned i = 0; i < 8; ++i) start.words[4 + i] = Word{} + stream.key[i];
    for (unsigned i = 0; i < 3; ++i) start.words[13 + i] = Word{} + stream.nonce[i];
    for (std::size_t done = 0; done < block_count; done += kBlocks) {
        for (unsigned b = 0; b < kBlocks; ++b) {
            start.words[12][b] = counter + static_cast<std::uint32_t>(done) + b;
        }
        x = start;
        for (int round = 0; round < 20; round += 2) double_round(x);
        for (unsigned i = 0; i < 16; ++i) {
            x.words[i] += start.words[i];
            for (unsigned b = 0; b < kBlocks; ++b) blocks.items[16 * b + i] = x.words[i][b];
        }
        std::memcpy(out + kBlockBytes * done, blocks.data(),
                    kBlockBytes * std::min(kBlocks, block_count - done));
    }
}

}  // namespace hekat::ring::portable
