// Transpositions of 8 x 8 words, byte permutations between limb sizes, and look-ups by masks and
// permutations.
#include "bigint/vector_layout.hpp"

#include "bigint/vector.hpp"
#include "bigint/vector_transpose.hpp"

namespace hekat::vector {
namespace {

constexpr std::size_t kBytesOfGroup = 52;  // of eight 52-bit limbs

// The first `count` words from x on, the rest zero. count in 0 .. 8.
HEKAT_IFMA_INLINE Vector load_some(const Limb* x, std::size_t count) {
    return reinterpret_cast<Vector>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1U << count) - 1), x));
}
HEKAT_IFMA_INLINE void store_some(Limb* z, Vector x, std::size_t count) {
    _mm512_mask_storeu_epi64(z, static_cast<__mmask8>((1U << count) - 1), reinterpret_cast<__m512i>(x));
}

// The first `count` bytes from x on, the rest zero. count in 0 .. 64.
HEKAT_IFMA_INLINE __mmask64 first_bytes(std::size_t count) {
    return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// The byte of a group of 52-bit limbs at which limb k begins, in its low or its high nibble.
constexpr unsigned first_byte(unsigned k) { return 13 * k / 2; }

struct ByteIndices {
    alignas(64) unsigned char at[64];
};

// For `split_limbs`: byte b of word k is byte first_byte(k) + b of the group.
constexpr ByteIndices split_indices() {
    ByteIndices indices{};
    for (unsigned k = 0; k < kLanes; ++k) {
        for (unsigned b = 0; b < 8; ++b)
            indices.at[8 * k + b] = static_cast<unsigned char>(first_byte(k) + b);
    }
    return indices;
}

// For `join_limbs`: what byte i of the group takes from the even limbs, or from the odd ones, which are
// shifted up by half a byte. A byte that takes nothing takes the limb's highest, which is zero.
constexpr ByteIndices join_indices(unsigned odd) {
    ByteIndices indices{};
    for (unsigned i = 0; i < 64; ++i) {
        const unsigned k = 2 * (i / 13) + odd;
        const unsigned begin = first_byte(k);
        const bool takes = k < kLanes && i >= begin && i < begin + 7;
        indices.at[i] = static_cast<unsigned char>(takes ? 8 * k + i - begin : 7);
    }
    return indices;
}

constexpr ByteIndices kSplit = split_indices();
constexpr ByteIndices kJoinEven = join_indices(0);
constexpr ByteIndices kJoinOdd = join_indices(1);

HEKAT_IFMA_INLINE __m512i permute_bytes(const ByteIndices& indices, __m512i x) {
    return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, _mm512_load_si512(indices.at), x);
}

// All ones in the lanes where a == b.
HEKAT_IFMA_INLINE Vector mask_of_lanes(Vector a, Vector b) { return reinterpret_cast<Vector>(a == b); }

constexpr unsigned kStrideBits = 4;  // of kMinStride
constexpr unsigned kMaxLevels = 6;   // of pairs of words to choose from above that
constexpr std::size_t kMaxEntries = kMinStride << kMaxLevels;

// Word table[index mod Entries] of Entries words, lane by lane. bits[i]: the lanes with bit kStrideBits + i
// of index.
template <std::size_t Entries>
HEKAT_IFMA_INLINE Vector look_up(const Limb* table, Vector index, const Vector (&bits)[kMaxLevels]) {
    if constexpr (Entries == kMinStride) {
        return reinterpret_cast<Vector>(_mm512_permutex2var_epi64(reinterpret_cast<__m512i>(load(table, 0)),
                                                                  reinterpret_cast<__m512i>(index),
                                                                  reinterpret_cast<__m512i>(load(table, 1))));
    } else {
        constexpr std::size_t kLevel = static_cast<std::size_t>(__builtin_ctzll(Entries)) - kStrideBits - 1;
        const Vector low = look_up<Entries / 2>(table, index, bits);
        const Vector high = look_up<Entries / 2>(table + Entries / 2, index, bits);
        return (high & bits[kLevel]) | (low & ~bits[kLevel]);
    }
}

// stride is Entries, or a multiple of kMaxEntries where that is Entries.
template <std::size_t Entries>
HEKAT_IFMA void look_up_words(Limb* z, const Limb* table, std::size_t stride, std::size_t words,
                              const Limb* indices, std::size_t group_count) {
    for (std::size_t i = 0; i < words; ++i, table += stride) {
        for (std::size_t group = 0; group < group_count; ++group) {
            const Vector index = load(indices, group);
            Vector bits[kMaxLevels];
#pragma GCC unroll 6
            for (unsigned level = 0; level < kMaxLevels; ++level) {
                bits[level] = Vector{} - ((index >> (kStrideBits + level)) & 1);
            }
            Vector found = look_up<Entries>(table, index, bits);
            if constexpr (Entries == kMaxEntries) {
                const Vector part = index / kMaxEntries;
                found &= mask_of_lanes(part, Vector{});
                for (std::size_t at = kMaxEntries; at < stride; at += kMaxEntries) {
                    found |= look_up<Entries>(table + at, index, bits) &
                             mask_of_lanes(part, spread(at / kMaxEntries));
                }
            }
            store(z + group * words * kLanes, i, found);
        }
    }
}

}  // namespace

HEKAT_IFMA void transpose_in(Limb* z, const Limb* const* rows, std::size_t words) {
    std::size_t at = 0;
    for (; at + kLanes <= words; at += kLanes) {
        Vector x[kLanes];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kLanes; ++i) x[i] = load(rows[i] + at, 0);
        transpose(x);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kLanes; ++i) store(z, at + i, x[i]);
    }
    if (at == words) return;
    Vector x[kLanes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) x[i] = load_some(rows[i] + at, words - at);
    transpose(x);
    for (std::size_t i = 0; at + i < words; ++i) store(z, at + i, x[i]);
}

HEKAT_IFMA void transpose_out(Limb* const* rows, const Limb* x, std::size_t words) {
    for (std::size_t at = 0; at < words; at += kLanes) {
        const std::size_t count = words - at < kLanes ? words - at : kLanes;
        Vector y[kLanes];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kLanes; ++i) y[i] = i < count ? load(x, at + i) : Vector{};
        transpose(y);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kLanes; ++i) {
            if (rows[i] != nullptr) store_some(rows[i] + at, y[i], count);
        }
    }
}

HEKAT_IFMA void split_limbs(Limb* row, std::size_t row_words, const Limb* value, std::size_t limb_count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(value);
    const std::size_t byte_count = limb_count * sizeof(Limb);
    for (std::size_t at = 0; at < row_words; at += kLanes) {
        const std::size_t begin = at / kLanes * kBytesOfGroup;
        const std::size_t rest = begin < byte_count ? byte_count - begin : 0;
        const __m512i group = _mm512_maskz_loadu_epi8(first_bytes(rest), bytes + (rest > 0 ? begin : 0));
        const auto words = reinterpret_cast<Vector>(permute_bytes(kSplit, group));
        const Vector limbs = (words >> Vector{0, 4, 0, 4, 0, 4, 0, 4}) & kLimbMask52;
        store_some(row + at, limbs, row_words - at < kLanes ? row_words - at : kLanes);
    }
}

HEKAT_IFMA void join_limbs(Limb* value, std::size_t limb_count, const Limb* row, std::size_t row_words) {
    auto* bytes = reinterpret_cast<unsigned char*>(value);
    const std::size_t byte_count = limb_count * sizeof(Limb);
    for (std::size_t begin = 0; begin < byte_count; begin += kBytesOfGroup) {
        const std::size_t at = begin / kBytesOfGroup * kLanes;
        const std::size_t count = at >= row_words ? 0 : row_words - at < kLanes ? row_words - at : kLanes;
        const Vector limbs = load_some(row + (count > 0 ? at : 0), count) << Vector{0, 4, 0, 4, 0, 4, 0, 4};
        const auto words = reinterpret_cast<__m512i>(limbs);
        const __m512i group =
            _mm512_or_si512(permute_bytes(kJoinEven, words), permute_bytes(kJoinOdd, words));
        const std::size_t rest = byte_count - begin;
        _mm512_mask_storeu_epi8(bytes + begin, first_bytes(rest < kBytesOfGroup ? rest : kBytesOfGroup),
                                group);
    }
}

HEKAT_IFMA void select(Limb* z, const Limb* table, std::size_t entry_count, std::size_t words,
                       const Limb* indices) {
    constexpr std::size_t kTogether = 16;  // words gathered in registers in one pass over the entries
    const Vector index = load(indices, 0);
    for (std::size_t at = 0; at < words; at += kTogether) {
        const std::size_t count = words - at < kTogether ? words - at : kTogether;
        Vector found[kTogether] = {};
        const Limb* entry = table + kLanes * at;
        for (std::size_t j = 0; j < entry_count; ++j, entry += kLanes * words) {
            const Vector mask = mask_of_lanes(index, spread(j));
            if (count == kTogether) {
#pragma GCC unroll 16
                for (std::size_t i = 0; i < kTogether; ++i) found[i] |= mask & load(entry, i);
            } else {
                for (std::size_t i = 0; i < count; ++i) found[i] |= mask & load(entry, i);
            }
        }
        for (std::size_t i = 0; i < count; ++i) store(z, at + i, found[i]);
    }
}

HEKAT_IFMA void pick_vartime(Limb* z, const Limb* table, std::size_t words, const Limb* indices) {
    const Vector lane{0, 1, 2, 3, 4, 5, 6, 7};
    const auto first = reinterpret_cast<__m512i>(load(indices, 0) * (words * kLanes) + lane);
    for (std::size_t i = 0; i < words; ++i) {
        store(z, i,
              reinterpret_cast<Vector>(_mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xFF, first,
                                                                   table + kLanes * i, sizeof(Limb))));
    }
}

void select_shared(Limb* z, const Limb* table, std::size_t entry_count, std::size_t words,
                   const Limb* indices, std::size_t group_count) {
    const std::size_t stride = shared_stride(entry_count);
    switch (stride) {
        case 16:
            return look_up_words<16>(z, table, stride, words, indices, group_count);
        case 32:
            return look_up_words<32>(z, table, stride, words, indices, group_count);
        case 64:
            return look_up_words<64>(z, table, stride, words, indices, group_count);
        case 128:
            return look_up_words<128>(z, table, stride, words, indices, group_count);
        case 256:
            return look_up_words<256>(z, table, stride, words, indices, group_count);
        case 512:
            return look_up_words<512>(z, table, stride, words, indices, group_count);
        default:
            return look_up_words<kMaxEntries>(z, table, stride, words, indices, group_count);
    }
}

}  // namespace hekat::vector
