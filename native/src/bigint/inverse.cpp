// Inversion by division steps, 62 at a time: a matrix from the low words, then one pass over the long
// numbers.
#include "bigint/inverse.hpp"

#include "bigint/secret_buffer.hpp"

namespace hekat {
namespace {

using SignedLimb = std::int64_t;
__extension__ typedef __int128 SignedWide;

constexpr unsigned kDigitBits = 62;
constexpr Limb kDigitMask = (Limb{1} << kDigitBits) - 1;

// Signed numbers of 62-bit digits, little-endian; the last digit carries the sign.
using Digits = SignedLimb*;

// 62 division steps as a matrix: 2^62 (f', g') = ((u, v), (q, r)) (f, g). Entries are within [-2^62, 2^62].
struct Steps {
    SignedLimb u = 1;
    SignedLimb v = 0;
    SignedLimb q = 0;
    SignedLimb r = 1;
};

// delta, and the low 62 bits of odd f and of g, decide the steps.
Steps divide_steps(SignedLimb& delta, Limb f, Limb g) {
    Limb u = 1;
    Limb v = 0;
    Limb q = 0;
    Limb r = 1;
    for (unsigned step = 0; step < kDigitBits; ++step) {
        const Limb odd = mask_of_bit(g & 1);
        // Where delta > 0 and g is odd: (f, g) become (g, -f) and delta its negative.
        const Limb swap = hide(odd & ~static_cast<Limb>((delta - 1) >> 63));
        const Limb fg = (f ^ g) & swap;
        const Limb uq = (u ^ q) & swap;
        const Limb vr = (v ^ r) & swap;
        f ^= fg;
        u ^= uq;
        v ^= vr;
        g = ((g ^ fg) ^ swap) - swap;
        q = ((q ^ uq) ^ swap) - swap;
        r = ((r ^ vr) ^ swap) - swap;
        delta = static_cast<SignedLimb>((static_cast<Limb>(delta) ^ swap) - swap) + 1;
        g = (g + (f & odd)) >> 1;
        q += u & odd;
        r += v & odd;
        u <<= 1;
        v <<= 1;
    }
    return {static_cast<SignedLimb>(u), static_cast<SignedLimb>(v), static_cast<SignedLimb>(q),
            static_cast<SignedLimb>(r)};
}

SignedWide product(SignedLimb a, SignedLimb b) { return static_cast<SignedWide>(a) * b; }

SignedLimb low_digit(SignedWide x) { return static_cast<SignedLimb>(static_cast<Limb>(x) & kDigitMask); }

// (f, g) = steps (f, g) / 2^62, exactly.
void apply_to_gcd(const Steps& steps, Digits f, Digits g, std::size_t count) {
    SignedWide cf = (product(steps.u, f[0]) + product(steps.v, g[0])) >> kDigitBits;
    SignedWide cg = (product(steps.q, f[0]) + product(steps.r, g[0])) >> kDigitBits;
    for (std::size_t i = 1; i < count; ++i) {
        cf += product(steps.u, f[i]) + product(steps.v, g[i]);
        cg += product(steps.q, f[i]) + product(steps.r, g[i]);
        f[i - 1] = low_digit(cf);
        g[i - 1] = low_digit(cg);
        cf >>= kDigitBits;
        cg >>= kDigitBits;
    }
    f[count - 1] = static_cast<SignedLimb>(cf);
    g[count - 1] = static_cast<SignedLimb>(cg);
}

// (d, e) = steps (d, e) / 2^62 mod n, each staying within (-2n, n); n_inverse = n^-1 mod 2^62.
void apply_to_cofactors(const Steps& steps, Digits d, Digits e, const SignedLimb* n, Limb n_inverse,
                        std::size_t count) {
    // n is added where d or e is negative, so that both sums start within (-n 2^62, n 2^62).
    const SignedLimb d_sign = d[count - 1] >> 63;
    const SignedLimb e_sign = e[count - 1] >> 63;
    SignedLimb md = (steps.u & d_sign) + (steps.v & e_sign);
    SignedLimb me = (steps.q & d_sign) + (steps.r & e_sign);
    SignedWide cd = product(steps.u, d[0]) + product(steps.v, e[0]);
    SignedWide ce = product(steps.q, d[0]) + product(steps.r, e[0]);
    // Multiples of n that clear the lowest digit.
    md -= static_cast<SignedLimb>((n_inverse * static_cast<Limb>(cd) + static_cast<Limb>(md)) & kDigitMask);
    me -= static_cast<SignedLimb>((n_inverse * static_cast<Limb>(ce) + static_cast<Limb>(me)) & kDigitMask);
    cd = (cd + product(n[0], md)) >> kDigitBits;
    ce = (ce + product(n[0], me)) >> kDigitBits;
    for (std::size_t i = 1; i < count; ++i) {
        cd += product(steps.u, d[i]) + product(steps.v, e[i]) + product(n[i], md);
        ce += product(steps.q, d[i]) + product(steps.r, e[i]) + product(n[i], me);
        d[i - 1] = low_digit(cd);
        e[i - 1] = low_digit(ce);
        cd >>= kDigitBits;
        ce >>= kDigitBits;
    }
    d[count - 1] = static_cast<SignedLimb>(cd);
    e[count - 1] = static_cast<SignedLimb>(ce);
}

void digits_from_limbs(Digits z, std::size_t digit_count, const Limb* x, std::size_t count) {
    for (std::size_t i = 0; i < digit_count; ++i) {
        const std::size_t bit = i * kDigitBits;
        const std::size_t at = bit / kLimbBits;
        Wide pair = at < count ? x[at] : 0;
        if (at + 1 < count) pair |= static_cast<Wide>(x[at + 1]) << kLimbBits;
        z[i] = static_cast<SignedLimb>(low_limb(pair >> (bit % kLimbBits)) & kDigitMask);
    }
}

// z = x for 0 <= x < 2^(64 count).
void limbs_from_digits(Limb* z, std::size_t count, const SignedLimb* x, std::size_t digit_count) {
    for (std::size_t i = 0; i < count; ++i) z[i] = 0;
    for (std::size_t i = 0; i < digit_count; ++i) {
        const std::size_t bit = i * kDigitBits;
        const Wide shifted = static_cast<Wide>(static_cast<Limb>(x[i])) << (bit % kLimbBits);
        if (bit / kLimbBits < count) z[bit / kLimbBits] |= low_limb(shifted);
        if (bit / kLimbBits + 1 < count) z[bit / kLimbBits + 1] |= high_limb(shifted);
    }
}

// d = (negate ? -d : d) + (add ? n : 0), for masks of all ones or zero.
void negate_and_add(Digits d, SignedLimb negate, const SignedLimb* n, SignedLimb add, std::size_t count) {
    SignedLimb carry = 0;
    for (std::size_t i = 0; i < count; ++i) {
        carry += ((d[i] ^ negate) - negate) + (n[i] & add);
        d[i] = i + 1 < count ? static_cast<SignedLimb>(static_cast<Limb>(carry) & kDigitMask) : carry;
        carry >>= kDigitBits;
    }
}

// All ones where f is 1 or -1 (given its sign as a mask), else zero.
Limb mask_of_unit(const SignedLimb* f, SignedLimb sign, std::size_t count) {
    Limb difference = 0;
    SignedLimb carry = 0;
    for (std::size_t i = 0; i < count; ++i) {
        carry += (f[i] ^ sign) - sign;
        const Limb digit = static_cast<Limb>(carry) & kDigitMask;
        difference |= digit ^ (i == 0 ? Limb{1} : Limb{0});
        carry >>= kDigitBits;
    }
    return mask_of_equal(difference, 0);
}

}  // namespace

bool invert_limbs(Limb* z, const Limb* x, const Limb* n, std::size_t count) {
    const std::size_t bits = kLimbBits * count;
    // One digit more than the bits fill, so that magnitudes up to 2^(bits + 1) and a sign fit.
    const std::size_t digit_count = bits / kDigitBits + 1;
    SecretBuffer memory(5 * digit_count);
    // Signed views of the same words; signed and unsigned forms of one type may share memory.
    const auto digits = [&](std::size_t i) {
        return reinterpret_cast<SignedLimb*>(memory.data() + i * digit_count);
    };
    Digits f = digits(0);
    Digits g = digits(1);
    Digits d = digits(2);
    Digits e = digits(3);
    Digits modulus = digits(4);
    digits_from_limbs(modulus, digit_count, n, count);
    digits_from_limbs(f, digit_count, n, count);
    digits_from_limbs(g, digit_count, x, count);
    e[0] = 1;
    Limb n_inverse = n[0];
    for (int step = 0; step < 5; ++step) n_inverse *= 2 - n[0] * n_inverse;

    SignedLimb delta = 1;
    const std::size_t step_count = (49 * bits + 80) / 17;  // theorem 11.2: g is 0 by then
    for (std::size_t done = 0; done < step_count; done += kDigitBits) {
        const Steps steps = divide_steps(delta, static_cast<Limb>(f[0]), static_cast<Limb>(g[0]));
        apply_to_gcd(steps, f, g, digit_count);
        apply_to_cofactors(steps, d, e, modulus, n_inverse, digit_count);
    }
    // f = +-gcd(x, n) and d x = f mod n, with d in (-2n, n).
    const SignedLimb f_sign = f[digit_count - 1] >> 63;
    negate_and_add(d, 0, modulus, d[digit_count - 1] >> 63, digit_count);  // (-n, n)
    negate_and_add(d, f_sign, modulus, 0, digit_count);                    // (-n, n)
    negate_and_add(d, 0, modulus, d[digit_count - 1] >> 63, digit_count);  // [0, n)
    limbs_from_digits(z, count, d, digit_count);
    return mask_of_unit(f, f_sign, digit_count) != 0;
}

}  // namespace hekat
