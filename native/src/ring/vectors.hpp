// The kernels in AVX-512 IFMA, for path `ifma`: their contracts are in ring/kernels.hpp.
#pragma once

#include "ring/kernels.hpp"

namespace hekat::ring::vectors {

void key_stream(std::uint8_t* out, const Stream& stream, std::uint32_t counter, std::size_t block_count);
void sample_uniform(Limb* a, const Prime& prime, const Stream& stream);
void sample_cbd(std::int8_t* e, std::size_t count, const Stream& stream);
Kept keep_tries(std::int64_t* x, const Limb* words, std::size_t group_count, const GaussianLaw& law);
void transform(Limb* a, const Prime& prime);
void transform_first(Limb* a, std::size_t first, const Prime& prime);
void take_residues(Limb* z, const std::int64_t* values, std::size_t count, const Prime& prime);
void invert_transform(Limb* a, const Prime& prime);
void invert_product(Limb* a, const Limb* w, const Limb* quotients, const Prime& prime);
void add(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);
void subtract(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);
void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime);
void drop_prime(Limb* z, const Limb* a, const Limb* last, std::size_t count, Limb dropped,
                const Factor& inverse, const Prime& prime);
void find_quotients(Limb* quotients, const Limb* w, std::size_t count, const Prime& prime);
void pack(std::uint8_t* bytes, const Limb* fields, std::size_t count, const FieldLayout& layout);
void unpack(Limb* fields, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout);
void unpack_onto(Limb* sums, const std::uint8_t* bytes, std::size_t count, const FieldLayout& layout);
bool mask(Limb* const* residues, const std::int8_t* errors, const std::int32_t* lanes, std::size_t used,
          const MaskFormat& form);
void round_sums(Limb* const* sums, std::size_t used, const MaskFormat& form);
bool unmask(std::int64_t* lanes, const Limb* const* fields, Limb* const* residues, std::size_t used,
            const MaskFormat& form);
void take_slice(Limb* z, std::size_t stride, const Limb* row, std::size_t slice, const Prime& prime);
void transform_plaintext(Limb* z, const SparsePlaintext& plaintext, std::size_t slice,
                         const BinFactors& factors, const Prime& prime);
void add_products(Limb* sums, const Limb* x, const Limb* elements, const BinProducts& products);
void put_slice(Limb* row, const Limb* sums, std::size_t stride, std::size_t slice, bool adds,
               const Prime& prime);
void add_windows(Limb* sums, const Limb* row, const std::int32_t* digits, std::size_t count,
                 std::size_t window);
void reduce(Limb* z, std::size_t count, const Prime& prime);
void invert_first(Limb* z, std::size_t window, Limb* a, const Prime& prime);
void add_terms(Limb* sums, std::size_t count, const Terms& terms);
void reduce_terms(Limb* z, const Limb* sums, std::size_t count, const Prime& prime);
void floor_fractions(Limb* low, Limb* high, const Limb* rows, std::size_t stride, std::size_t count,
                     const FractionDigits& digits);

}  // namespace hekat::ring::vectors
