// hekat._native.Ring, BinSums and MaskedBlocks: tables of a ring and of a mask format, and the operations
// under them.
#include "ring/ring.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "binding/arrays.hpp"
#include "ring/bin_sums.hpp"
#include "ring/dot.hpp"
#include "ring/fractions.hpp"
#include "ring/gaussian.hpp"
#include "ring/masked_blocks.hpp"
#include "ring/window_sums.hpp"

namespace hekat::binding {
namespace {

using ring::BinSums;
using ring::Digits;
using ring::Fractions;
using ring::GaussianLaw;
using ring::Key;
using ring::MaskedBlocks;
using ring::Prime;
using ring::Ring;
using ring::Segments;

using ElementInput = nb::ndarray<const Limb, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ElementOutput = nb::ndarray<Limb, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using GroupInput = nb::ndarray<const Limb, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using GroupOutput = nb::ndarray<Limb, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using PairInput = nb::ndarray<const std::int8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using BinOutput = nb::ndarray<Limb, nb::ndim<5>, nb::c_contig, nb::device::cpu>;
using ValueInput = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using DigitInput = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ByteInput = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteOutput = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SmallOutput = nb::ndarray<std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using LevelInput = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SumOutput = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const std::uint8_t* bytes_of(const nb::bytes& bytes, std::size_t count) {
    require(bytes.size() == count, "a key or a nonce has the wrong length");
    return reinterpret_cast<const std::uint8_t*>(bytes.c_str());
}

Key key_of(const nb::bytes& bytes) { return Key(bytes_of(bytes, ring::kKeyBytes)); }

bool is_degree(std::size_t degree) {
    return degree >= ring::kMinDegree && degree <= ring::kMaxDegree && (degree & (degree - 1)) == 0;
}

void make_ring(Ring* self, std::size_t degree, const std::vector<Limb>& primes,
               const std::vector<Limb>& roots, const char* path) {
    require(is_degree(degree), "no degree of a ring");
    require(!primes.empty() && primes.size() <= ring::kMaxPrimes && roots.size() == primes.size(),
            "one or two primes, with a root each");
    for (std::size_t i = 0; i < primes.size(); ++i) {
        require(primes[i] >> ring::kMaxPrimeBits == 0 && primes[i] % (2 * degree) == 1 &&
                    ring::power_vartime(roots[i] % primes[i], degree, primes[i]) == primes[i] - 1,
                "no prime with a root of a ring");
    }
    new (self) Ring(degree, primes, roots, path_of(path));
}

void make_masked_blocks(MaskedBlocks* self, const Ring& ring, unsigned lanes, unsigned lane_bits,
                        unsigned dropped_bits, unsigned sum_dropped_bits) {
    require(lanes >= 1 && lanes <= ring::kMaxLanes && lane_bits >= 2 && lane_bits <= ring::kMaxLaneBits,
            "lanes out of range");
    Wide modulus = 1;
    for (const Prime& prime : ring.primes()) modulus *= prime.value;
    const unsigned digits_bits = lanes * lane_bits;
    require(digits_bits < 100 && modulus >> digits_bits >= 2 &&
                modulus >> digits_bits >> ring::kMaxDeltaBits == 0,
            "delta out of range");
    for (const unsigned dropped : {dropped_bits, sum_dropped_bits}) {
        require(dropped <= ring::kMaxDroppedBits && modulus >> dropped >= 4, "dropped bits out of range");
    }
    new (self) MaskedBlocks(ring, lanes, lane_bits, dropped_bits, sum_dropped_bits);
}

template <typename Array>
void require_elements(const Ring& ring, const Array& array, std::size_t count) {
    require(
        array.shape(0) == count && array.shape(1) == ring.primes().size() && array.shape(2) == ring.degree(),
        "elements have the wrong shape");
}

void expand_uniform(const Ring& ring, ThreadPool& pool, const ElementOutput& out, const nb::bytes& key,
                    Limb first_chunk) {
    require_elements(ring, out, out.shape(0));
    const Key words = key_of(key);
    without_gil([&] { ring.expand_uniform(pool, out.data(), words, first_chunk, out.shape(0)); });
}

template <auto operation>
void change(const Ring& ring, ThreadPool& pool, const ElementOutput& out, const ElementInput& a) {
    require_elements(ring, out, out.shape(0));
    require_elements(ring, a, out.shape(0));
    without_gil([&] { (ring.*operation)(pool, out.data(), a.data(), out.shape(0)); });
}

void transform_integers(const Ring& ring, ThreadPool& pool, const ElementOutput& out,
                        const ValueInput& values) {
    require_elements(ring, out, values.shape(0));
    require(values.shape(1) >= 1 && values.shape(1) <= ring.degree(), "integers have the wrong shape");
    without_gil(
        [&] { ring.transform_integers(pool, out.data(), values.data(), values.shape(1), values.shape(0)); });
}

void drop_prime(const Ring& ring, ThreadPool& pool, const ElementOutput& out, const ElementInput& a,
                const LimbInput& last, Limb dropped) {
    require_elements(ring, out, out.shape(0));
    require_elements(ring, a, out.shape(0));
    require(last.shape(0) == out.shape(0) && last.shape(1) == ring.degree(), "rows have the wrong shape");
    require(dropped % 2 == 1 && dropped >> ring::kMaxPrimeBits == 0, "no odd prime");
    for (const Prime& prime : ring.primes()) require(dropped % prime.value != 0, "a prime of the ring");
    without_gil([&] { ring.drop_prime(pool, out.data(), a.data(), last.data(), dropped, out.shape(0)); });
}

Ring::Elements operand(const Ring& ring, const ElementInput& a, std::size_t count) {
    require_elements(ring, a, a.shape(0) == 1 ? 1 : count);
    return {a.data(), a.shape(0) != count};
}

template <auto operation>
void combine(const Ring& ring, ThreadPool& pool, const ElementOutput& out, const ElementInput& a,
             const ElementInput& b) {
    const std::size_t count = out.shape(0);
    require_elements(ring, out, count);
    const Ring::Elements left = operand(ring, a, count);
    const Ring::Elements right = operand(ring, b, count);
    without_gil([&] { (ring.*operation)(pool, out.data(), left, right, count); });
}

bool is_window(std::size_t window, std::size_t degree) {
    return window >= 1 && window <= degree && (window & (window - 1)) == 0;
}

void add_zeros(const Ring& ring, ThreadPool& pool, const ElementOutput& second, const GroupOutput& first,
               const ElementInput& second_sums, const GroupInput& first_sums, const PairInput& small,
               const ElementInput& pair) {
    const std::size_t count = second.shape(0);
    require_elements(ring, second, count);
    require_elements(ring, second_sums, count);
    require(first.shape(0) == count && first.shape(2) == ring.primes().size() &&
                is_window(first.shape(3), ring.degree()),
            "first coefficients have the wrong shape");
    for (std::size_t axis = 0; axis < 4; ++axis) {
        require(first.shape(axis) == first_sums.shape(axis), "first coefficients have the wrong shape");
    }
    require(small.shape(0) == count && small.shape(1) == 2 && small.shape(2) == ring.degree(),
            "small numbers have the wrong shape");
    require_elements(ring, pair, 1 + first.shape(1));
    const Ring::Zeros sums{second.data(),     first.data(),   second_sums.data(),
                           first_sums.data(), first.shape(1), first.shape(3)};
    without_gil([&] { ring.add_zeros(pool, sums, small.data(), pair.data(), count); });
}

void require_matrix(const Ring& ring, const GroupInput& a, std::size_t rows, std::size_t columns,
                    std::size_t stride = 1) {
    require(a.shape(0) == rows && a.shape(1) == columns && a.shape(2) == ring.primes().size() &&
                a.shape(3) * stride == ring.degree(),
            "a matrix has the wrong shape");
}

void refresh(const Ring& ring, ThreadPool& pool, const GroupOutput& out, const GroupInput& elements,
             const PairInput& small, const ElementInput& pair) {
    const std::size_t count = out.shape(0);
    const std::size_t halves = out.shape(1);
    require_matrix(ring, GroupInput(out), count, halves);
    require_matrix(ring, elements, count, halves);
    require_elements(ring, pair, halves);
    require(small.shape(0) == count && small.shape(1) == 1 + halves && small.shape(2) == ring.degree(),
            "small numbers have the wrong shape");
    without_gil(
        [&] { ring.refresh(pool, out.data(), elements.data(), small.data(), pair.data(), halves, count); });
}

void first_products(const Ring& ring, ThreadPool& pool, const GroupOutput& out, const ElementInput& a,
                    const ElementInput& b) {
    require(out.shape(2) == ring.primes().size() && is_window(out.shape(3), ring.degree()),
            "first coefficients have the wrong shape");
    require_elements(ring, a, out.shape(0));
    require_elements(ring, b, out.shape(1));
    without_gil([&] {
        ring.first_products(pool, out.data(), out.shape(3), a.data(), out.shape(0), b.data(), out.shape(1));
    });
}

void dot(const Ring& ring, ThreadPool& pool, const GroupOutput& out, const GroupInput& a,
         const GroupInput& b) {
    require(a.shape(3) != 0, "a matrix is empty");
    const std::size_t stride = ring.degree() / a.shape(3);
    require(std::has_single_bit(stride) && stride <= 8, "a matrix has the wrong shape");
    const ring::DotShape shape{out.shape(0), a.shape(1), out.shape(1), stride};
    require_matrix(ring, GroupInput(out), shape.rows, shape.columns);
    require_matrix(ring, a, shape.rows, shape.terms, stride);
    require_matrix(ring, b, shape.terms, shape.columns);
    require(shape.rows * shape.terms * shape.columns != 0, "a matrix is empty");
    without_gil([&] { ring::dot(ring, pool, out.data(), a.data(), b.data(), shape); });
}

void make_fractions(Fractions* self, const std::vector<Limb>& primes, unsigned bits, const char* path) {
    require(!primes.empty() && primes.size() <= ring::kMostModulusPrimes, "no primes of a modulus");
    for (const Limb p : primes) {
        require(p >= 2 && p >> ring::kMaxPrimeBits == 0 && std::count(primes.begin(), primes.end(), p) == 1,
                "no primes of a modulus");
    }
    require(bits >= 1 && bits <= 128, "bits out of range");
    new (self) Fractions(primes, bits, path_of(path));
}

void floor_fractions(const Fractions& fractions, ThreadPool& pool, const LimbOutput& out,
                     const LimbInput& residues) {
    require_shape(out, residues.shape(0), 2);
    require(residues.shape(1) == fractions.prime_count(), "residues have the wrong shape");
    without_gil([&] { fractions.floor(pool, out.data(), residues.data(), residues.shape(0)); });
}

bool lie_between(const std::int32_t* digits, std::size_t count, std::int64_t limit) {
    return std::all_of(digits, digits + count, [=](std::int32_t x) { return x >= -1 && x < limit; });
}

// What both sums by digit ask of their arguments, but for the last axis of the output; then `sum` of them.
template <typename Sum>
void check_sums(const Ring& ring, const BinOutput& out, const GroupInput& elements, const DigitInput& digits,
                std::size_t window, const IndexInput& starts, const Sum& sum) {
    const std::size_t degree = ring.degree();
    const std::size_t prime_count = ring.primes().size();
    require(is_window(window, degree), "no window of a ring");
    const std::size_t rows = digits.shape(1);
    const std::size_t group_rows = degree / window;
    require(elements.shape(0) == (rows + group_rows - 1) / group_rows && elements.shape(2) == prime_count &&
                elements.shape(3) == degree,
            "elements have the wrong shape");
    require(starts.shape(0) >= 1 && out.shape(0) == starts.shape(0) - 1 &&
                out.shape(2) == elements.shape(1) && out.shape(3) == prime_count,
            "output has the wrong shape");
    const std::int64_t* const ends = starts.data() + starts.shape(0);
    require(starts.data()[0] >= 0 && std::is_sorted(starts.data(), ends) &&
                static_cast<std::size_t>(ends[-1]) <= rows,
            "starts out of range");
    const std::size_t limit = window * out.shape(1);
    require(limit >> 31 <= 1 && digits.shape(0) * group_rows >> 32 == 0, "too many digits");
    without_gil([&] {
        require(lie_between(digits.data(), digits.size(), static_cast<std::int64_t>(limit)),
                "digits out of range");
        sum(Digits{digits.data(), digits.shape(0), rows, window, out.shape(1), degree},
            Segments{starts.data(), out.shape(0)});
    });
}

void sum_bins(const BinSums& bins, ThreadPool& pool, const BinOutput& out, const GroupInput& elements,
              const DigitInput& digits, std::size_t window, const IndexInput& starts) {
    require(out.shape(4) == bins.ring().degree(), "output has the wrong shape");
    check_sums(bins.ring(), out, elements, digits, window, starts,
               [&](const Digits& of_rows, const Segments& segments) {
                   bins.sum(pool, out.data(), elements.data(), elements.shape(1), of_rows, segments);
               });
}

void sum_windows(const Ring& ring, ThreadPool& pool, const BinOutput& out, const GroupInput& elements,
                 const DigitInput& digits, std::size_t window, const IndexInput& starts) {
    require(out.shape(4) == window, "output has the wrong shape");
    check_sums(
        ring, out, elements, digits, window, starts, [&](const Digits& of_rows, const Segments& segments) {
            ring::sum_windows(ring, pool, out.data(), elements.data(), elements.shape(1), of_rows, segments);
        });
}

bool mask_values(const MaskedBlocks& blocks, ThreadPool& pool, const ByteOutput& out,
                 const nb::bytes& public_key, const ElementInput& secret, const ByteInput& error_key,
                 Limb first_chunk, const LevelInput& values) {
    const std::size_t count = values.shape(0);
    require(out.shape(0) == blocks.form().written_bytes(blocks.form().one, count),
            "output has the wrong size");
    require_elements(blocks.ring(), secret, 1);
    const Key public_words = key_of(public_key);
    require(error_key.shape(0) == ring::kKeyBytes, "a key or a nonce has the wrong length");
    const Key error_words(error_key.data());
    return without_gil([&] {
        return blocks.mask_values(pool, out.data(), public_words, secret.data(), error_words, first_chunk,
                                  values.data(), count);
    });
}

void add_masked(const MaskedBlocks& blocks, ThreadPool& pool, const WordOutput& sums,
                const ByteInput& written, std::size_t value_count) {
    const ring::MaskFormat& form = blocks.form();
    require(sums.shape(0) == form.field_count(value_count), "accumulator has the wrong size");
    require(written.shape(0) == form.written_bytes(form.one, value_count), "written has the wrong size");
    without_gil([&] { blocks.add_masked(pool, sums.data(), written.data(), value_count); });
}

void write_sum(const MaskedBlocks& blocks, ThreadPool& pool, const ByteOutput& out, const WordInput& sums,
               std::size_t value_count) {
    const ring::MaskFormat& form = blocks.form();
    require(sums.shape(0) == form.field_count(value_count), "accumulator has the wrong size");
    require(out.shape(0) == form.written_bytes(form.sum, value_count), "output has the wrong size");
    without_gil([&] { blocks.write_sum(pool, out.data(), sums.data(), value_count); });
}

bool unmask_sum(const MaskedBlocks& blocks, ThreadPool& pool, const SumOutput& values,
                const SumOutput& counts, const nb::bytes& public_key, const ElementInput& secret,
                Limb first_chunk, const ByteInput& written) {
    const ring::MaskFormat& form = blocks.form();
    const std::size_t count = values.shape(0);
    require(counts.shape(0) == form.chunk_count(count), "output has the wrong size");
    require(written.shape(0) == form.written_bytes(form.sum, count), "written has the wrong size");
    require_elements(blocks.ring(), secret, 1);
    const Key words = key_of(public_key);
    return without_gil([&] {
        return blocks.unmask_sum(pool, values.data(), counts.data(), words, secret.data(), first_chunk,
                                 written.data(), count);
    });
}

void chacha20(ThreadPool& pool, const char* path, const ByteOutput& out, const nb::bytes& key,
              const nb::bytes& nonce, std::uint32_t counter) {
    const Key words = key_of(key);
    std::array<std::uint32_t, 3> nonce_words{};
    std::memcpy(nonce_words.data(), bytes_of(nonce, ring::kNonceBytes), ring::kNonceBytes);
    const CpuPath arithmetic = path_of(path);
    without_gil([&] {
        ring::write_key_stream(pool, arithmetic, out.data(), words.stream(nonce_words), counter,
                               out.shape(0));
    });
}

void sample_cbd(ThreadPool& pool, const char* path, const SmallOutput& out, const nb::bytes& key,
                Limb first_chunk) {
    require(is_degree(out.shape(1)), "no degree of a ring");
    const Key words = key_of(key);
    const CpuPath arithmetic = path_of(path);
    without_gil([&] {
        ring::sample_cbd(pool, arithmetic, out.data(), words, first_chunk, out.shape(0), out.shape(1));
    });
}

void make_gaussian(GaussianLaw* self, Limb base, unsigned doublings, Limb limit,
                   const std::vector<Limb>& thresholds, Limb margin) {
    require(base >> ring::kGaussianBaseBits >= 4 && base >> ring::kGaussianBaseBits < 16,
            "base out of range");
    require(doublings <= ring::kMaxDoublings && limit >> 47 == 0, "doublings or limit out of range");
    require(!thresholds.empty() && thresholds.size() <= ring::kMostThresholds &&
                std::ranges::is_sorted(thresholds),
            "thresholds do not ascend");
    require(margin >> 52 == 0, "margin out of range");
    new (self) GaussianLaw(ring::make_gaussian(base, doublings, limit, thresholds, margin));
}

void sample_gaussian(const GaussianLaw& law, ThreadPool& pool, const char* path, const SumOutput& out,
                     const ByteOutput& undecided, const ByteInput& key, Limb first_block) {
    const std::size_t blocks = (out.shape(0) + ring::kBlockNumbers - 1) / ring::kBlockNumbers;
    require(undecided.shape(0) == blocks, "one byte for each block");
    require(key.shape(0) == ring::kKeyBytes, "a key has the wrong length");
    const Key words(key.data());
    const CpuPath arithmetic = path_of(path);
    without_gil([&] {
        ring::sample_gaussian(pool, arithmetic, out.data(), undecided.data(), words, first_block,
                              out.shape(0), law);
    });
}

template <auto operation>
void bind_change(nb::class_<Ring>& bound, const char* name) {
    bound.def(name, change<operation>, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert());
}

template <auto operation>
void bind_combine(nb::class_<Ring>& bound, const char* name) {
    bound.def(name, combine<operation>, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
              nb::arg("b").noconvert());
}

}  // namespace

void bind_ring(nb::module_& module) {
    nb::class_<Ring> bound(module, "Ring");
    bound.def("__init__", make_ring, nb::arg("degree"), nb::arg("primes"), nb::arg("roots"), nb::arg("path"))
        .def("expand_uniform", expand_uniform, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("key"),
             nb::arg("first_chunk"));
    bind_change<&Ring::transform>(bound, "ntt");
    bind_change<&Ring::invert_transform>(bound, "intt");
    bind_combine<&Ring::add>(bound, "add");
    bind_combine<&Ring::subtract>(bound, "sub");
    bind_combine<&Ring::multiply>(bound, "mul");
    bound.def("add_zeros", add_zeros, nb::arg("pool"), nb::arg("second").noconvert(),
              nb::arg("first").noconvert(), nb::arg("second_sums").noconvert(),
              nb::arg("first_sums").noconvert(), nb::arg("small").noconvert(), nb::arg("pair").noconvert());
    bound.def("first_products", first_products, nb::arg("pool"), nb::arg("out").noconvert(),
              nb::arg("a").noconvert(), nb::arg("b").noconvert());
    bound.def("ntt_integers", transform_integers, nb::arg("pool"), nb::arg("out").noconvert(),
              nb::arg("values").noconvert());
    bound.def("refresh", refresh, nb::arg("pool"), nb::arg("out").noconvert(),
              nb::arg("elements").noconvert(), nb::arg("small").noconvert(), nb::arg("pair").noconvert());
    bound.def("drop_prime", drop_prime, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
              nb::arg("last").noconvert(), nb::arg("dropped"));
    bound.def("dot", dot, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
              nb::arg("b").noconvert());
    bound.def("sum_windows", sum_windows, nb::arg("pool"), nb::arg("out").noconvert(),
              nb::arg("elements").noconvert(), nb::arg("digits").noconvert(), nb::arg("window"),
              nb::arg("starts").noconvert());
    nb::class_<BinSums>(module, "BinSums")
        .def(nb::init<const Ring&>(), nb::arg("ring"), nb::keep_alive<1, 2>())
        .def("sum", sum_bins, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("elements").noconvert(),
             nb::arg("digits").noconvert(), nb::arg("window"), nb::arg("starts").noconvert());
    nb::class_<Fractions>(module, "Fractions")
        .def("__init__", make_fractions, nb::arg("primes"), nb::arg("bits"), nb::arg("path"))
        .def("floor", floor_fractions, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("residues").noconvert());
    nb::class_<MaskedBlocks>(module, "MaskedBlocks")
        .def("__init__", make_masked_blocks, nb::arg("ring"), nb::arg("lanes"), nb::arg("lane_bits"),
             nb::arg("dropped_bits"), nb::arg("sum_dropped_bits"), nb::keep_alive<1, 2>())
        .def("mask_values", mask_values, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("public_key"),
             nb::arg("secret_ntt").noconvert(), nb::arg("error_key").noconvert(), nb::arg("first_chunk"),
             nb::arg("values").noconvert())
        .def("add_masked", add_masked, nb::arg("pool"), nb::arg("accumulator").noconvert(),
             nb::arg("written").noconvert(), nb::arg("value_count"))
        .def("write_sum", write_sum, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("accumulator").noconvert(), nb::arg("value_count"))
        .def("unmask_sum", unmask_sum, nb::arg("pool"), nb::arg("values").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("public_key"), nb::arg("secret_ntt").noconvert(),
             nb::arg("first_chunk"), nb::arg("written").noconvert());
    module.def("chacha20", chacha20, nb::arg("pool"), nb::arg("path"), nb::arg("out").noconvert(),
               nb::arg("key"), nb::arg("nonce"), nb::arg("counter"));
    nb::class_<GaussianLaw>(module, "GaussianLaw")
        .def("__init__", make_gaussian, nb::arg("base"), nb::arg("doublings"), nb::arg("limit"),
             nb::arg("thresholds"), nb::arg("margin"))
        .def("sample", sample_gaussian, nb::arg("pool"), nb::arg("path"), nb::arg("out").noconvert(),
             nb::arg("undecided").noconvert(), nb::arg("key").noconvert(), nb::arg("first_block"));
    module.attr("gaussian_margin") = ring::kGaussianMargin;
    module.def("sample_cbd", sample_cbd, nb::arg("pool"), nb::arg("path"), nb::arg("out").noconvert(),
               nb::arg("key"), nb::arg("first_chunk"));
}

}  // namespace hekat::binding
