// hekat._native.Modulus: what is precomputed for one modulus, and the batches of residues under it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "bigint/integer.hpp"
#include "bigint/make_ring.hpp"
#include "bigint/secret_buffer.hpp"
#include "bigint/vector_kernels.hpp"
#include "binding/arrays.hpp"

namespace hekat::binding {
namespace {

using MaybeIndex = std::optional<std::size_t>;

// The most limbs of a modulus that every path's products are proved for, with 16 bits to spare above it.
constexpr std::size_t kMaxModulusLimbs = (vector::kMaxVectorLimbs * vector::kLimbBits52 - 16) / kLimbBits;

void require_odd_number(const LimbInput& limbs, const char* what) {
    const std::size_t count = limbs.shape(1);
    require(limbs.shape(0) == 1 && count >= 1 && count <= kMaxModulusLimbs, what);
    require((limbs.data()[0] & 1) == 1 && limbs.data()[count - 1] > (count == 1 ? 1 : 0), what);
}

// Constant time: both may be secret.
bool is_square_of(const Limb* n, std::size_t count, const LimbInput& root) {
    SecretBuffer square(2 * root.shape(1));
    multiply_limbs(square.data(), root.data(), root.shape(1), root.data(), root.shape(1));
    Limb difference = 0;
    for (std::size_t i = 0; i < std::max(count, square.size()); ++i) {
        difference |= (i < count ? n[i] : 0) ^ (i < square.size() ? square.data()[i] : 0);
    }
    return difference == 0;
}

// root: the number whose square the modulus is, where that is known.
std::unique_ptr<ResidueRing> make_modulus(const LimbInput& limbs, const std::optional<LimbInput>& root,
                                          const char* path) {
    require_odd_number(limbs, "a modulus is one odd number above 1, of at most 276 limbs, none zero on top");
    if (root) {
        require_odd_number(*root, "a root is one odd number above 1, of at most 276 limbs, none zero on top");
        require(is_square_of(limbs.data(), limbs.shape(1), *root), "a modulus is the square of its root");
    }
    return make_ring(limbs.data(), limbs.shape(1), root ? root->data() : nullptr, root ? root->shape(1) : 0,
                     path_of(path));
}

// `count` residues of the ring, rows to read or to write.
void require_rows(const ResidueRing& ring, const LimbInput& rows) {
    require(rows.shape(1) == ring.row_limbs(), "residues have the wrong width");
}

void require_rows(const ResidueRing& ring, const LimbOutput& rows, std::size_t count) {
    require_shape(rows, count, ring.row_limbs());
}

MaybeIndex load(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& values) {
    require(values.shape(1) >= 1 && values.shape(1) <= ring.limb_count(), "values are too wide");
    require_rows(ring, out, values.shape(0));
    return without_gil([&] {
        return load_residues(pool, ring, out.data(), values.data(), values.shape(1), values.shape(0));
    });
}

void reduce(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& values) {
    require(values.shape(1) >= 1 && values.shape(1) <= 2 * ring.limb_count(), "values are too wide");
    require_rows(ring, out, values.shape(0));
    without_gil(
        [&] { reduce_residues(pool, ring, out.data(), values.data(), values.shape(1), values.shape(0)); });
}

void store(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a) {
    require_rows(ring, a);
    require_shape(out, a.shape(0), ring.limb_count());
    without_gil([&] { store_residues(pool, ring, out.data(), a.data(), a.shape(0)); });
}

// root: the modulus's root.
MaybeIndex mul_one_plus(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
                        const LimbInput& m, const LimbInput& root) {
    const std::size_t count = out.shape(0);
    require_rows(ring, out, count);
    const Items left = items_of(a, count);
    const Items values = items_of(m, count);
    require_rows(ring, a);
    require(root.shape(0) == 1 && root.shape(1) >= 1 && root.shape(1) <= ring.limb_count() &&
                is_square_of(ring.modulus(), ring.limb_count(), root),
            "a modulus is the square of its root");
    require(values.limbs >= 1 && values.limbs <= root.shape(1), "values are wider than the root");
    return without_gil([&] {
        return multiply_by_one_plus(pool, ring, out.data(), left, values, root.data(), root.shape(1), count);
    });
}

void mul(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
         const LimbInput& b) {
    const std::size_t count = out.shape(0);
    require_rows(ring, out, count);
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    require_rows(ring, a);
    require_rows(ring, b);
    without_gil([&] { multiply_residues(pool, ring, out.data(), left, right, count); });
}

void exp(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
         const LimbInput& exponents, bool vartime) {
    const std::size_t count = out.shape(0);
    require_rows(ring, out, count);
    const Items bases = items_of(a, count);
    const Items powers = items_of(exponents, count);
    require_rows(ring, a);
    require(powers.limbs >= 1, "exponents have no limbs");
    without_gil([&] { raise_residues(pool, ring, out.data(), bases, powers, count, vartime); });
}

FixedBaseShape shape_of(std::size_t exponent_bits, unsigned window_bits, bool constant_time,
                        bool factored = false) {
    require(exponent_bits >= 1 && window_bits >= 1 && window_bits <= 16, "table sizes out of range");
    require(exponent_bits <= kMaxTableExponentBits,
            "a fixed-base table takes exponents of at most 2^20 bits");
    return {exponent_bits, window_bits, constant_time, factored};
}

std::size_t table_words(const ResidueRing& ring, std::size_t exponent_bits, unsigned window_bits,
                        bool constant_time) {
    return shape_of(exponent_bits, window_bits, constant_time).table_words(ring);
}

// Returns whether the table is factored: where the ring has factors and the base an inverse, it is.
bool build_table(const ResidueRing& ring, ThreadPool& pool, const WordOutput& table, const LimbInput& base,
                 std::size_t exponent_bits, unsigned window_bits, bool constant_time) {
    require(base.shape(0) == 1 && base.shape(1) == ring.limb_count(), "base has the wrong shape");
    const bool has_factors = ring.factors() != nullptr;
    FixedBaseShape shape = shape_of(exponent_bits, window_bits, constant_time, has_factors);
    require(table.shape(0) == shape.table_words(ring), "table has the wrong size");
    return without_gil([&] {
        if (build_fixed_base_table(pool, ring, shape, table.data(), base.data())) return shape.factored;
        shape.factored = false;
        build_fixed_base_table(pool, ring, shape, table.data(), base.data());
        return false;
    });
}

MaybeIndex exp_fixed(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const WordInput& table,
                     const LimbInput& exponents, std::size_t exponent_bits, unsigned window_bits,
                     bool constant_time, bool factored) {
    const FixedBaseShape shape = shape_of(exponent_bits, window_bits, constant_time, factored);
    require(!factored || ring.factors() != nullptr, "a table of factors of a ring that has none");
    require(table.shape(0) == shape.table_words(ring), "table has the wrong size");
    require_rows(ring, out, exponents.shape(0));
    require(exponents.shape(1) >= 1, "exponents have no limbs");
    return without_gil([&] {
        return raise_fixed_base(pool, ring, shape, out.data(), table.data(), exponents.data(),
                                exponents.shape(1), exponents.shape(0));
    });
}

// Offsets that rise from 0 and stay within `members`, members below `count`.
void require_lines(const IndexInput& members, const IndexInput& offsets, std::size_t count) {
    require(offsets.shape(0) >= 1, "there are no offsets");
    std::int64_t last = 0;
    for (std::size_t i = 0; i < offsets.shape(0); ++i) {
        require(offsets.data()[i] >= last, "offsets do not rise");
        last = offsets.data()[i];
    }
    require(last <= static_cast<std::int64_t>(members.shape(0)), "offsets go beyond the members");
    for (std::size_t i = 0; i < members.shape(0); ++i) {
        require(members.data()[i] >= 0 && members.data()[i] < static_cast<std::int64_t>(count),
                "a member is out of range");
    }
}

void product_lines(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
                   const IndexInput& members, const IndexInput& offsets) {
    require_rows(ring, a);
    require_lines(members, offsets, a.shape(0));
    const std::size_t line_count = offsets.shape(0) - 1;
    require_rows(ring, out, line_count);
    without_gil([&] {
        multiply_lines(pool, ring, out.data(), a.data(), members.data(), offsets.data(), line_count);
    });
}

// exponents and signs are dense, base by base and result by result, or with columns and offsets the rows of a
// sparse matrix: result j has the terms offsets[j] to offsets[j + 1], term k the base columns[k].
MaybeIndex multi_exp(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
                     const LimbInput& exponents, const std::optional<BoolInput>& negative,
                     const std::optional<IndexInput>& columns, const std::optional<IndexInput>& offsets,
                     std::size_t scratch_bytes) {
    const std::size_t base_count = a.shape(0);
    const std::size_t result_count = out.shape(0);
    require_rows(ring, out, result_count);
    require_rows(ring, a);
    require(exponents.shape(1) >= 1, "exponents have no limbs");
    require(!negative || negative->shape(0) == exponents.shape(0), "signs have the wrong count");
    require(columns.has_value() == offsets.has_value(), "columns and offsets come together");
    if (columns) {
        require_lines(*columns, *offsets, base_count);
        require(offsets->shape(0) == result_count + 1, "offsets have the wrong count");
        require(columns->shape(0) == exponents.shape(0), "exponents have the wrong count");
    } else {
        require(exponents.shape(0) == base_count * result_count, "exponents have the wrong count");
    }
    const PowerTerms terms{a.data(),
                           exponents.data(),
                           exponents.shape(1),
                           negative ? negative->data() : nullptr,
                           columns ? columns->data() : nullptr,
                           offsets ? offsets->data() : nullptr,
                           base_count,
                           result_count};
    return without_gil([&] { return multiply_powers(pool, ring, out.data(), terms, scratch_bytes); });
}

MaybeIndex inv(const ResidueRing& ring, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
               std::size_t scratch_bytes) {
    require_rows(ring, a);
    require_rows(ring, out, a.shape(0));
    return without_gil(
        [&] { return invert_residues(pool, ring, out.data(), a.data(), a.shape(0), scratch_bytes); });
}

}  // namespace

void bind_modulus(nb::module_& module) {
    module.def("conversion_counts", [] {
        const ConversionCounts counts = conversion_counts();
        return std::make_pair(counts.entered, counts.left);
    });
    nb::class_<ResidueRing>(module, "Modulus")
        .def(nb::new_(&make_modulus), nb::arg("limbs").noconvert(), nb::arg("root").noconvert().none(),
             nb::arg("path"))
        .def_prop_ro("row_limbs", &ResidueRing::row_limbs)
        .def_prop_ro("table_window_bits", &fixed_base_window_bits)
        .def_prop_ro("table_entry_products", &fixed_base_entry_products)
        .def("load", load, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("values").noconvert())
        .def("reduce", reduce, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("values").noconvert())
        .def("store", store, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert())
        .def("mul", mul, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("b").noconvert())
        .def("mul_one_plus", mul_one_plus, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("a").noconvert(), nb::arg("m").noconvert(), nb::arg("root").noconvert())
        .def("exp", exp, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("exponents").noconvert(), nb::arg("vartime"))
        .def("table_words", table_words, nb::arg("exponent_bits"), nb::arg("window_bits"),
             nb::arg("constant_time"))
        .def("build_table", build_table, nb::arg("pool"), nb::arg("table").noconvert(),
             nb::arg("base").noconvert(), nb::arg("exponent_bits"), nb::arg("window_bits"),
             nb::arg("constant_time"))
        .def("exp_fixed", exp_fixed, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("table").noconvert(), nb::arg("exponents").noconvert(), nb::arg("exponent_bits"),
             nb::arg("window_bits"), nb::arg("constant_time"), nb::arg("factored"))
        .def("product_lines", product_lines, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("a").noconvert(), nb::arg("members").noconvert(), nb::arg("offsets").noconvert())
        .def("multi_exp", multi_exp, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("exponents").noconvert(), nb::arg("negative").noconvert().none(),
             nb::arg("columns").noconvert().none(), nb::arg("offsets").noconvert().none(),
             nb::arg("scratch_bytes"))
        .def("inv", inv, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("scratch_bytes"));
}

}  // namespace hekat::binding
