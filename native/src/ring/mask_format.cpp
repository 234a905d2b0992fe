// Sizes of chunks, and constants made once for a format; everything here is public.
#include "ring/mask_format.hpp"

#include <algorithm>
#include <bit>

namespace hekat::ring {
namespace {

unsigned bits_of(Wide x) {
    const Limb high = high_limb(x);
    return static_cast<unsigned>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low_limb(x)));
}

Wide product_of(const std::vector<const Prime*>& primes) {
    Wide product = 1;
    for (const Prime* prime : primes) product *= prime->value;
    return product;
}

}  // namespace

WrittenLayout::WrittenLayout(unsigned modulus_bits, unsigned dropped_bits, std::size_t prime_count)
    : dropped(dropped_bits), fields{} {
    const unsigned bits = modulus_bits - dropped_bits;
    if (prime_count == 2) fields.emplace_back((bits + 1) / 2);
    fields.emplace_back(prime_count == 2 ? bits / 2 : bits);
}

std::size_t WrittenLayout::bytes(std::size_t used) const {
    std::size_t total = 0;
    for (const FieldLayout& layout : fields) total += layout.bytes(used);
    return total;
}

MaskFormat::MaskFormat(std::vector<const Prime*> ring_primes, unsigned lane_count, unsigned bits_of_lane,
                       unsigned dropped_bits, unsigned sum_dropped_bits)
    : primes(std::move(ring_primes)),
      lanes(lane_count),
      lane_bits(bits_of_lane),
      modulus(product_of(primes)),
      delta(static_cast<Limb>(modulus >> (lanes * lane_bits))),
      one(bits_of(modulus), dropped_bits, primes.size()),
      sum(bits_of(modulus), sum_dropped_bits, primes.size()),
      offset(0),
      from_offset(0),
      to_quotient(0),
      delta_reciprocal(0),
      delta_shift(static_cast<unsigned>(std::bit_width(delta)) - 1),
      step_quotient((Limb{1} << 51) / delta),
      step_rest((Limb{1} << 51) % delta),
      lift(0),
      inverse{},
      sum_factors{} {
    for (unsigned j = 0; j < lanes; ++j) offset += Wide{1} << (j * lane_bits + lane_bits - 1);
    from_offset = modulus - delta * offset;
    to_quotient = static_cast<SignedWide>(delta / 2 + delta * offset) - static_cast<SignedWide>(modulus / 2);
    delta_reciprocal = static_cast<Limb>(((Wide{1} << (52 + delta_shift)) - 1) / delta);
    if (primes.size() == 2) {
        const Limb p0 = primes[0]->value;
        const Limb p1 = primes[1]->value;
        lift = (p0 + p1 - 1) / p1 * p1;
        inverse = primes[1]->factor(inverse_vartime(p0, p1));
    }
    for (std::size_t i = 0; i < primes.size(); ++i) {
        const Prime& prime = *primes[i];
        for (std::size_t k = 0; k < primes.size(); ++k) {
            const unsigned shift = dropped_bits + (k == 0 ? 0 : one.fields[0].width);
            const Limb low = power_vartime(2, shift, prime.value);
            sum_factors[i][k] = {
                prime.factor(low),
                prime.factor(multiply_vartime(low, power_vartime(2, 52, prime.value), prime.value))};
        }
    }
}

std::size_t MaskFormat::chunk_count(std::size_t value_count) const {
    return std::max<std::size_t>(1, (value_count + values_per_chunk() - 1) / values_per_chunk());
}

std::size_t MaskFormat::values_in(std::size_t chunk, std::size_t value_count) const {
    return std::min(values_per_chunk(), value_count - chunk * values_per_chunk());
}

std::size_t MaskFormat::used_in(std::size_t chunk, std::size_t value_count) const {
    if (chunk + 1 < chunk_count(value_count)) return degree();
    return (values_in(chunk, value_count) + lanes) / lanes;
}

std::size_t MaskFormat::field_count(std::size_t value_count) const {
    const std::size_t last = chunk_count(value_count) - 1;
    return (last * degree() + used_in(last, value_count)) * primes.size();
}

std::size_t MaskFormat::written_bytes(const WrittenLayout& layout, std::size_t value_count) const {
    const std::size_t last = chunk_count(value_count) - 1;
    return last * layout.bytes(degree()) + layout.bytes(used_in(last, value_count));
}

}  // namespace hekat::ring
