// Fields to bytes and back, by one word that holds what is not yet written or read.
#include "ring/portable.hpp"

namespace hekat::ring::portable {
namespace {

// Calls take(i, field) for each of the fields in `bytes`.
template <typename Take>
inline void read_fields(const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout,
                        const Take& take) {
    Limb held = 0;
    unsigned held_bits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        for (; held_bits < layout.width; held_bits += 8) held |= Limb{*bytes++} << held_bits;
        take(i, held & layout.mask);
        held >>= layout.width;
        held_bits -= layout.width;
    }
}

}  // namespace

void pack(std::uint8_t* bytes, const Limb* fields, std::size_t count, const FieldLayout& layout) {
    Limb held = 0;
    unsigned held_bits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        held |= fields[i] << held_bits;
        held_bits += layout.width;
        for (; held_bits >= 8; held_bits -= 8, held >>= 8) *bytes++ = static_cast<std::uint8_t>(held);
    }
    if (held_bits > 0) *bytes = static_cast<std::uint8_t>(held);
}

void unpack(Limb* fields, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout) {
    read_fields(bytes, count, layout, [=](std::size_t i, Limb field) { fields[i] = field; });
}

void unpack_onto(Limb* sums, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout) {
    read_fields(bytes, count, layout, [=](std::size_t i, Limb field) { sums[i] += field; });
}

}  // namespace hekat::ring::portable
