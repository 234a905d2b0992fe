// The ring operations with keys, elements and values marked as secret, as test_constant_time.cpp does it.
//
// usage: test_ring_constant_time PATH [leak]; the last has to be reported: a uniform element is drawn from a
// secret key, and the rejection of words branches. Exit codes as run_constant_time says.
#include <cstring>

#include "constant_time_program.hpp"
#include "ring/dot.hpp"
#include "ring/fractions.hpp"
#include "ring/gaussian.hpp"
#include "ring/masked_blocks.hpp"
#include "ring_cases.hpp"
#include "secrets.hpp"

namespace {

using namespace hekat;
using hekat::ring::Kernels;
using hekat::ring::Key;
using hekat::ring::MaskedBlocks;
using hekat::ring::MaskFormat;
using hekat::ring::Prime;
using hekat::ring::Ring;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

constexpr std::size_t kDegree = 1024;

// Memory of `bytes` bytes, in words so that it can be marked.
Limbs room_for(std::size_t bytes) { return Limbs((bytes + 7) / 8); }

std::uint8_t* bytes_of(Limbs& words) { return reinterpret_cast<std::uint8_t*>(words.data()); }

struct Secrets {
    Limbs key;     // 32 bytes
    Limbs a;       // an element, canonical
    Limbs values;  // int32, two to a word

    template <typename Visit>
    void visit(const Visit& visit_one) {
        for (Limbs* words : {&key, &a, &values}) visit_one(*words);
    }
};

struct Result {
    std::string operation;
    Limbs words;
};

std::vector<Result> work_through(const Ring& ring, const MaskedBlocks& blocks, Secrets& in,
                                 std::size_t value_count) {
    ThreadPool pool(1, [] { return true; });
    const Kernels& kernels = ring.kernels();
    const MaskFormat& form = blocks.form();
    const Key secret_key(bytes_of(in.key));
    const Key public_key = test::make_key(8);
    std::vector<Result> results;
    const auto keep = [&](const std::string& operation, const Limbs& words) {
        results.push_back({operation, words});
    };

    Limbs stream = room_for(20 * ring::kBlockBytes);
    kernels.key_stream(bytes_of(stream), secret_key.stream(0, 0), 0, 20);
    keep("key stream", stream);
    Limbs small = room_for(kDegree);
    kernels.sample_cbd(reinterpret_cast<std::int8_t*>(small.data()), kDegree,
                       secret_key.stream(Key::kCbd, 1));
    keep("centred binomial numbers", small);
    // Thresholds as of a Gaussian, one even at the end; so many numbers that the last group is cut.
    const ring::GaussianLaw law = ring::make_gaussian(
        Limb{4} << 32, 9, Limb{20} << 9, {Limb{1} << 62, Limb{3} << 62, ~Limb{0}}, ring::kGaussianMargin);
    Limbs noise(ring::kBlockNumbers + 5);
    std::uint8_t undecided[2];
    ring::sample_gaussian(pool, ring.path(), reinterpret_cast<std::int64_t*>(noise.data()), undecided,
                          secret_key, 6, noise.size(), law);
    check(undecided[0] + undecided[1] == 0, "every comparison is decided");
    keep("discrete Gaussian numbers", noise);

    Limbs transformed(in.a.size());
    Limbs z(in.a.size());
    ring.transform(pool, transformed.data(), in.a.data(), 1);
    keep("transform", transformed);
    ring.invert_transform(pool, z.data(), transformed.data(), 1);
    keep("inverse transform", z);
    const Ring::Elements a{in.a.data(), false};
    const Ring::Elements b{transformed.data(), false};
    ring.add(pool, z.data(), a, b, 1);
    keep("sum", z);
    ring.subtract(pool, z.data(), a, b, 1);
    keep("difference", z);
    ring.multiply(pool, z.data(), a, b, 1);
    keep("product", z);
    Limbs both = room_for(2 * kDegree);
    auto* const both_small = reinterpret_cast<std::int8_t*>(both.data());
    kernels.sample_cbd(both_small, 2 * kDegree, secret_key.stream(Key::kCbd, 2));
    Limbs pairs(transformed);
    pairs.insert(pairs.end(), transformed.begin(), transformed.end());
    // Both ways of a first half: blocks of eight, and of 64.
    for (const std::size_t window : {std::size_t{4}, std::size_t{32}}) {
        Limbs first(window * ring.primes().size());
        Limbs first_sums(first.size());
        const Ring::Zeros sums{z.data(), first.data(), in.a.data(), first_sums.data(), 1, window};
        ring.add_zeros(pool, sums, both_small, pairs.data(), 1);
        keep("sum with an encryption of zero", z);
        keep("first coefficients with an encryption of zero", first);
        ring.first_products(pool, first.data(), window, transformed.data(), 1, transformed.data(), 1);
        keep("first coefficients of a product", first);
    }

    Limbs thrice = room_for(3 * kDegree);
    auto* const thrice_small = reinterpret_cast<std::int8_t*>(thrice.data());
    kernels.sample_cbd(thrice_small, 3 * kDegree, secret_key.stream(Key::kCbd, 3));
    Limbs halves(2 * z.size());
    ring.refresh(pool, halves.data(), pairs.data(), thrice_small, pairs.data(), 2, 1);
    keep("ciphertext with an encryption of zero", halves);
    Limbs dropped(z.size());
    ring.drop_prime(pool, dropped.data(), in.a.data(), transformed.data(), (Limb{1} << 50) - 27, 1);
    keep("numbers over a prime", dropped);
    // Few integers, and as many as a polynomial has coefficients.
    for (const std::size_t count : {std::size_t{5}, kDegree}) {
        std::vector<std::int64_t> integers(count);
        for (std::size_t n = 0; n < count; ++n) integers[n] = static_cast<std::int64_t>(in.key[n % 4]);
        ring.transform_integers(pool, z.data(), integers.data(), count, 1);
        keep("slots of integers", z);
    }
    ring::dot(ring, pool, z.data(), in.a.data(), transformed.data(), {1, 1, 1});
    keep("matrix product of one term", z);
    Limbs terms(9 * z.size());
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = transformed[i % transformed.size()];
    ring::dot(ring, pool, z.data(), terms.data(), terms.data(), {1, 9, 1});
    keep("matrix product", z);
    // The element's rows as residues of numbers.
    const std::size_t prime_count = ring.primes().size();
    Limbs residues(in.a.size());
    std::vector<Limb> primes;
    for (std::size_t i = 0; i < prime_count; ++i) {
        primes.push_back(ring.primes()[i].value);
        for (std::size_t n = 0; n < kDegree; ++n)
            residues[n * prime_count + i] = transformed[i * kDegree + n];
    }
    for (const unsigned bits : {60U, 128U}) {
        Limbs fractions(2 * kDegree);
        ring::Fractions(primes, bits, ring.path()).floor(pool, fractions.data(), residues.data(), kDegree);
        keep("fractions", fractions);
    }

    std::vector<std::int32_t> values(value_count);
    std::memcpy(values.data(), in.values.data(), value_count * sizeof(values[0]));
    Limbs written = room_for(form.written_bytes(form.one, value_count));
    check(blocks.mask_values(pool, bytes_of(written), public_key, transformed.data(), secret_key, 5,
                             values.data(), value_count),
          "every value fits");
    keep("masked values", written);
    Limbs sums(form.field_count(value_count));
    blocks.add_masked(pool, sums.data(), bytes_of(written), value_count);
    Limbs sum = room_for(form.written_bytes(form.sum, value_count));
    blocks.write_sum(pool, bytes_of(sum), sums.data(), value_count);
    keep("written sum", sum);
    Limbs opened(value_count);
    Limbs counts(form.chunk_count(value_count));
    check(blocks.unmask_sum(pool, reinterpret_cast<std::int64_t*>(opened.data()),
                            reinterpret_cast<std::int64_t*>(counts.data()), public_key, transformed.data(), 5,
                            bytes_of(sum), value_count),
          "the sum lies in its lanes");
    keep("opened values", opened);
    keep("counts", counts);
    return results;
}

struct Case {
    std::vector<Limb> primes;
    unsigned lanes, lane_bits, dropped, sum_dropped;
};

void test_case(const Case& c, CpuPath path, Source& source) {
    std::vector<Limb> roots;
    for (const Limb p : c.primes) roots.push_back(test::find_root(p, kDegree));
    // A chunk and a part of one, the last lane not full.
    const std::size_t value_count = c.lanes * kDegree + 101;
    // Small in every coefficient, as secrets are.
    Secrets secrets{source.limbs(4), {}, room_for(4 * value_count)};
    for (const Limb p : c.primes) {
        for (std::size_t n = 0; n < kDegree; ++n) secrets.a.push_back((p + n % 43 - 21) % p);
    }
    std::vector<std::int32_t> values(value_count);
    for (std::int32_t& x : values) {
        x = static_cast<std::int32_t>(source.limb() % ((Limb{2} << (c.lane_bits - 1)) - 1)) -
            static_cast<std::int32_t>((Limb{1} << (c.lane_bits - 1)) - 1);
    }
    std::memcpy(secrets.values.data(), values.data(), value_count * sizeof(values[0]));

    const Ring plain_ring(kDegree, c.primes, roots, CpuPath::kPortable);
    const MaskedBlocks plain(plain_ring, c.lanes, c.lane_bits, c.dropped, c.sum_dropped);
    const std::vector<Result> expected = work_through(plain_ring, plain, secrets, value_count);
    const Ring ring(kDegree, c.primes, roots, path);
    const MaskedBlocks blocks(ring, c.lanes, c.lane_bits, c.dropped, c.sum_dropped);
    secrets.visit(test::mark_secret);
    std::vector<Result> found = work_through(ring, blocks, secrets, value_count);
    secrets.visit(test::make_public);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        bool is_marked = false;
        for (const Limb& x : found[i].words) is_marked = is_marked || test::is_secret(x);
        check(is_marked, found[i].operation + ": the mark came through");
        test::make_public(found[i].words);
        check(found[i].words == expected[i].words,
              found[i].operation + ": what the portable path gives without marks");
    }
}

void leak(CpuPath path, Source& source) {
    const Limb p = test::find_prime((Limb{1} << 49) + 1, kDegree, true);
    const Prime prime = test::make_prime(p, kDegree, path);
    Limbs key = source.limbs(4);
    test::mark_secret(key);
    Limbs a(kDegree);
    ring::kernels_of(path).sample_uniform(a.data(), prime, Key(bytes_of(key)).stream(0, 0));
    check(true, "drawn");
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_constant_time(argc, argv, [](CpuPath path, const std::string& mode) {
        Source source(14);
        if (mode == "leak") {
            leak(path, source);
            return true;
        }
        if (!mode.empty()) return false;
        const Limb top = test::find_prime((Limb{1} << 50) - 1, kDegree, false);
        const Limb second = test::find_prime(Limb{1} << 47, kDegree, false);
        test_case({{top}, 2, 20, 2, 3}, path, source);
        test_case({{top, second}, 3, 28, 3, 5}, path, source);
        return true;
    });
}
