// Fields of every width against bits one by one; nothing is read or written beyond their bytes.
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::FieldLayout;
using hekat::ring::Kernels;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

std::vector<std::uint8_t> bytes_of(const Limbs& fields, unsigned width) {
    std::vector<std::uint8_t> bytes((fields.size() * width + 7) / 8);
    for (std::size_t bit = 0; bit < fields.size() * width; ++bit) {
        const Limb value = fields[bit / width] >> bit % width & 1;
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | value << bit % 8);
    }
    return bytes;
}

void test_width(CpuPath path, unsigned width, std::size_t count, Source& source) {
    const Kernels& kernels = ring::kernels_of(path);
    const FieldLayout layout(width);
    const std::string name = std::to_string(count) + " fields of " + std::to_string(width) + " bits, path ";
    Limbs fields = source.limbs(count);
    for (Limb& field : fields) field &= layout.mask;
    const std::vector<std::uint8_t> expected = bytes_of(fields, width);
    check(layout.bytes(count) == expected.size(), name + "have their bytes");

    std::vector<std::uint8_t> written(expected.size() + 1, 0xa5);
    kernels.pack(written.data(), fields.data(), count, layout);
    check(written.back() == 0xa5, name + "end where they should");
    written.pop_back();
    check(written == expected, name + name_of(path) + " are packed");

    // Exactly as long as it is, so that a sanitizer sees what reads on.
    const std::vector<std::uint8_t> bytes(written);
    Limbs read(ring::padded(count));
    kernels.unpack(read.data(), bytes.data(), count, layout);
    read.resize(count);
    check(read == fields, name + name_of(path) + " are unpacked");

    const Limbs before = source.limbs(count);
    Limbs sums = before;
    kernels.unpack_onto(sums.data(), bytes.data(), count, layout);
    bool holds = true;
    for (std::size_t i = 0; i < count; ++i) holds = holds && sums[i] == before[i] + fields[i];
    check(holds, name + name_of(path) + " are added");
}

}  // namespace

int main() {
    Source source(12);
    for (const CpuPath path : test::ring_paths()) {
        for (unsigned width = 1; width <= ring::kMaxPrimeBits; ++width) {
            for (const std::size_t count : {1, 2, 3, 7, 8, 9, 15, 16, 17, 61, 64, 1001}) {
                test_width(path, width, count, source);
            }
        }
    }
    return test::verdict();
}
