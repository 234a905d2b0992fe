// Fields to bytes and back, eight at a time: words are permuted, then shifted each by its own count.
#include <algorithm>

#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

HEKAT_IFMA_INLINE Vector shift_right(Vector x, Vector counts) {
    return vector_of(_mm512_maskz_srlv_epi64(kAllWords, bits_of(x), bits_of(counts)));
}
HEKAT_IFMA_INLINE Vector shift_left(Vector x, Vector counts) {
    return vector_of(_mm512_maskz_sllv_epi64(kAllWords, bits_of(x), bits_of(counts)));
}
HEKAT_IFMA_INLINE Vector permute(Vector indices, Vector x) {
    return vector_of(_mm512_maskz_permutexvar_epi64(kAllWords, bits_of(indices), bits_of(x)));
}

// The first `count` bytes, or words.
HEKAT_IFMA_INLINE __mmask64 first_bytes(std::size_t count) { return (__mmask64{1} << count) - 1; }
HEKAT_IFMA_INLINE __mmask8 first_words(std::size_t count) { return static_cast<__mmask8>((1U << count) - 1); }

// What joins eight fields to their bytes, by terms 0 to term_count - 1 of the layout.
template <unsigned term_count>
struct Joiner {
    HEKAT_IFMA_INLINE explicit Joiner(const FieldLayout& layout) : right(load(layout.right, 0)) {
        for (unsigned c = 0; c < term_count; ++c) {
            source[c] = load(layout.source[c], 0);
            left[c] = load(layout.left[c], 0);
        }
    }

    HEKAT_IFMA_INLINE __m512i join(Vector fields) const {
        Vector bytes = shift_right(permute(source[0], fields), right);
#pragma GCC unroll 8
        for (unsigned c = 1; c < term_count; ++c) bytes |= shift_left(permute(source[c], fields), left[c]);
        return bits_of(bytes);
    }

    Vector source[term_count];
    Vector left[term_count];  // but for the first
    Vector right;
};

template <unsigned term_count>
HEKAT_IFMA void pack_fields(std::uint8_t* bytes, const Limb* fields, std::size_t count,
                            const FieldLayout& layout) {
    const Joiner<term_count> joiner(layout);
    const std::size_t width = layout.width;
    const __mmask64 whole = first_bytes(width);
    const std::size_t left = count % 8;
    std::uint8_t* const last = bytes + count / 8 * width;
    for (; bytes != last; bytes += width, fields += 8) {
        _mm512_mask_storeu_epi8(bytes, whole, joiner.join(load(fields, 0)));
    }
    if (left == 0) return;
    const Vector some = vector_of(_mm512_maskz_loadu_epi64(first_words(left), fields));
    _mm512_mask_storeu_epi8(bytes, first_bytes(layout.bytes(left)), joiner.join(some));
}

// What takes eight fields out of their bytes.
struct Reader {
    HEKAT_IFMA_INLINE explicit Reader(const FieldLayout& layout)
        : from(_mm512_loadu_si512(layout.read_from)),
          shift(load(layout.read_shift, 0)),
          mask(spread(layout.mask)) {}

    HEKAT_IFMA_INLINE Vector read(const std::uint8_t* bytes, __mmask64 present) const {
        const __m512i loaded = _mm512_maskz_loadu_epi8(present, bytes);
        return shift_right(vector_of(_mm512_maskz_permutexvar_epi8(~__mmask64{0}, from, loaded)), shift) &
               mask;
    }

    __m512i from;
    Vector shift;
    Vector mask;
};

}  // namespace

void pack(std::uint8_t* bytes, const Limb* fields, std::size_t count, const FieldLayout& layout) {
    switch (layout.term_count) {
        case 1:
        case 2:
            return pack_fields<2>(bytes, fields, count, layout);
        case 3:
            return pack_fields<3>(bytes, fields, count, layout);
        case 4:
            return pack_fields<4>(bytes, fields, count, layout);
        default:
            return pack_fields<8>(bytes, fields, count, layout);
    }
}

HEKAT_IFMA void unpack(Limb* fields, const std::uint8_t* bytes, std::size_t count,
                       const FieldLayout& layout) {
    const Reader reader(layout);
    const std::size_t width = layout.width;
    const __mmask64 whole = first_bytes(width);
    for (std::size_t i = 0; i < count / 8; ++i, bytes += width) store(fields, i, reader.read(bytes, whole));
    const std::size_t left = count % 8;
    if (left != 0) store(fields, count / 8, reader.read(bytes, first_bytes(layout.bytes(left))));
}

HEKAT_IFMA void unpack_onto(Limb* sums, const std::uint8_t* bytes, std::size_t count,
                            const FieldLayout& layout) {
    const Reader reader(layout);
    const std::size_t width = layout.width;
    const __mmask64 whole = first_bytes(width);
    for (std::size_t i = 0; i < count / 8; ++i, bytes += width) {
        store(sums, i, load(sums, i) + reader.read(bytes, whole));
    }
    const std::size_t left = count % 8;
    if (left == 0) return;
    const Vector last = reader.read(bytes, first_bytes(layout.bytes(left)));
    Limb* const to = sums + count - left;
    const Vector before = vector_of(_mm512_maskz_loadu_epi64(first_words(left), to));
    _mm512_mask_storeu_epi64(to, first_words(left), bits_of(before + last));
}

}  // namespace hekat::ring::vectors
