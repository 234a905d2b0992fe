// Arithmetic modulo any number the long way, to hold the rings against.
#pragma once

#include "bigint/integer.hpp"
#include "check.hpp"

namespace hekat::test {

inline Limbs product(const Limbs& a, const Limbs& b) {
    Limbs z(a.size() + b.size());
    multiply_limbs(z.data(), a.data(), a.size(), b.data(), b.size());
    return z;
}

class Schoolbook {
  public:
    explicit Schoolbook(Limbs n) : n_(std::move(n)) {}

    std::size_t limbs() const { return n_.size(); }

    Limbs reduce(const Limbs& x) const {
        Limbs quotient(x.size());
        Limbs remainder(n_.size());
        Limbs scratch(x.size() + n_.size() + 1);
        divide_limbs_vartime(quotient.data(), remainder.data(), x.data(), x.size(), n_.data(), n_.size(),
                             scratch.data());
        return remainder;
    }

    Limbs one() const {
        Limbs x(n_.size(), 0);
        x[0] = 1;
        return reduce(x);
    }

    Limbs multiply(const Limbs& a, const Limbs& b) const { return reduce(product(a, b)); }

    Limbs power(const Limbs& base, const Limbs& exponent) const {
        Limbs z = one();
        for (std::size_t bit = bit_length_vartime(exponent.data(), exponent.size()); bit-- > 0;) {
            z = multiply(z, z);
            if ((exponent[bit / kLimbBits] >> (bit % kLimbBits) & 1) != 0) z = multiply(z, base);
        }
        return z;
    }

  private:
    Limbs n_;
};

// Item i of items of `size` limbs each.
inline Limbs item(const Limbs& items, std::size_t size, std::size_t i) {
    return {items.begin() + static_cast<std::ptrdiff_t>(i * size),
            items.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)};
}

inline void append(Limbs& items, const Limbs& x) { items.insert(items.end(), x.begin(), x.end()); }

}  // namespace hekat::test
