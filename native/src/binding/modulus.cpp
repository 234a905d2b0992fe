// hekat._native.Modulus: what is precomputed for one modulus, and the batches of residues under it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <optional>

#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "bigint/montgomery_pairs.hpp"
#include "binding/arrays.hpp"

namespace hekat::binding {
namespace {

using MaybeIndex = std::optional<std::size_t>;

// root: the number whose square the modulus is, where that is known.
std::unique_ptr<ResidueRing> make_modulus(const LimbInput& limbs, const std::optional<LimbInput>& root,
                                          const char* path) {
    require(limbs.shape(0) == 1 && limbs.shape(1) >= 1 && (limbs.data()[0] & 1) == 1,
            "a modulus is one odd number");
    require(!root || (root->shape(0) == 1 && root->shape(1) >= 1 && (root->data()[0] & 1) == 1),
            "a root is one odd number");
    const TileKernels& kernels = tile_kernels(path_of(path));
    if (root && MontgomeryPairs::serve(limbs.shape(1), root->shape(1))) {
        return std::make_unique<MontgomeryPairs>(root->data(), root->shape(1), kernels);
    }
    return std::make_unique<Montgomery>(limbs.data(), limbs.shape(1), kernels);
}

MaybeIndex load(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out,
                const LimbInput& values) {
    require(values.shape(1) >= 1 && values.shape(1) <= modulus.limb_count(), "values are too wide");
    require_shape(out, values.shape(0), modulus.limb_count());
    return without_gil([&] {
        return load_residues(pool, modulus, out.data(), values.data(), values.shape(1), values.shape(0));
    });
}

void reduce(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& values) {
    require(values.shape(1) >= 1 && values.shape(1) <= 2 * modulus.limb_count(), "values are too wide");
    require_shape(out, values.shape(0), modulus.limb_count());
    without_gil(
        [&] { reduce_residues(pool, modulus, out.data(), values.data(), values.shape(1), values.shape(0)); });
}

void store(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a) {
    require(a.shape(1) == modulus.limb_count(), "residues have the wrong width");
    require_shape(out, a.shape(0), modulus.limb_count());
    without_gil([&] { store_residues(pool, modulus, out.data(), a.data(), a.shape(0)); });
}

void mul(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
         const LimbInput& b) {
    const std::size_t count = out.shape(0);
    require_shape(out, count, modulus.limb_count());
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    require(left.limbs == modulus.limb_count() && right.limbs == left.limbs, "residues have the wrong width");
    without_gil([&] { multiply_residues(pool, modulus, out.data(), left, right, count); });
}

void exp(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
         const LimbInput& exponents, bool vartime) {
    const std::size_t count = out.shape(0);
    require_shape(out, count, modulus.limb_count());
    const Items bases = items_of(a, count);
    const Items powers = items_of(exponents, count);
    require(bases.limbs == modulus.limb_count() && powers.limbs >= 1, "operands have the wrong width");
    without_gil([&] { raise_residues(pool, modulus, out.data(), bases, powers, count, vartime); });
}

FixedBaseShape shape_of(const ResidueRing& modulus, std::size_t exponent_bits, unsigned window_bits,
                        std::size_t rows, std::size_t limbs) {
    require(exponent_bits >= 1 && window_bits >= 1 && window_bits <= 16, "table sizes out of range");
    const FixedBaseShape shape{exponent_bits, window_bits};
    require(rows == shape.positions() * shape.entry_count() && limbs == modulus.limb_count(),
            "table has the wrong shape");
    return shape;
}

void build_table(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& table, const LimbInput& base,
                 std::size_t exponent_bits, unsigned window_bits) {
    require(base.shape(0) == 1 && base.shape(1) == modulus.limb_count(), "base has the wrong shape");
    const FixedBaseShape shape =
        shape_of(modulus, exponent_bits, window_bits, table.shape(0), table.shape(1));
    without_gil([&] { build_fixed_base_table(pool, modulus, shape, table.data(), base.data()); });
}

MaybeIndex exp_fixed(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out,
                     const LimbInput& table, const LimbInput& exponents, std::size_t exponent_bits,
                     unsigned window_bits) {
    const FixedBaseShape shape =
        shape_of(modulus, exponent_bits, window_bits, table.shape(0), table.shape(1));
    require_shape(out, exponents.shape(0), modulus.limb_count());
    require(exponents.shape(1) >= 1, "exponents have no limbs");
    return without_gil([&] {
        return raise_fixed_base(pool, modulus, shape, out.data(), table.data(), exponents.data(),
                                exponents.shape(1), exponents.shape(0));
    });
}

void product_lines(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
                   const IndexInput& members, const IndexInput& offsets) {
    require(a.shape(1) == modulus.limb_count(), "residues have the wrong width");
    require(offsets.shape(0) >= 1, "there are no offsets");
    const std::size_t line_count = offsets.shape(0) - 1;
    require_shape(out, line_count, modulus.limb_count());
    std::int64_t last = 0;
    for (std::size_t i = 0; i <= line_count; ++i) {
        require(offsets.data()[i] >= last, "offsets do not rise");
        last = offsets.data()[i];
    }
    require(last <= static_cast<std::int64_t>(members.shape(0)), "offsets go beyond the members");
    for (std::size_t i = 0; i < members.shape(0); ++i) {
        require(members.data()[i] >= 0 && members.data()[i] < static_cast<std::int64_t>(a.shape(0)),
                "a member is out of range");
    }
    without_gil([&] {
        multiply_lines(pool, modulus, out.data(), a.data(), members.data(), offsets.data(), line_count);
    });
}

MaybeIndex multi_exp(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a,
                     const LimbInput& exponents, const std::optional<BoolInput>& negative) {
    const std::size_t base_count = a.shape(0);
    const std::size_t result_count = out.shape(0);
    require_shape(out, result_count, modulus.limb_count());
    require(a.shape(1) == modulus.limb_count() && exponents.shape(1) >= 1, "operands have the wrong width");
    require(exponents.shape(0) == base_count * result_count, "exponents have the wrong count");
    require(!negative || (negative->shape(0) == base_count && negative->shape(1) == result_count),
            "signs have the wrong shape");
    const bool* signs = negative ? negative->data() : nullptr;
    return without_gil([&] {
        return multiply_powers(pool, modulus, out.data(), a.data(), exponents.data(), exponents.shape(1),
                               signs, base_count, result_count);
    });
}

MaybeIndex inv(const ResidueRing& modulus, ThreadPool& pool, const LimbOutput& out, const LimbInput& a) {
    require(a.shape(1) == modulus.limb_count(), "residues have the wrong width");
    require_shape(out, a.shape(0), modulus.limb_count());
    return without_gil([&] { return invert_residues(pool, modulus, out.data(), a.data(), a.shape(0)); });
}

}  // namespace

void bind_modulus(nb::module_& module) {
    module.def("table_window_bits", &fixed_base_window_bits, nb::arg("limb_count"));
    nb::class_<ResidueRing>(module, "Modulus")
        .def(nb::new_(&make_modulus), nb::arg("limbs").noconvert(), nb::arg("root").noconvert().none(),
             nb::arg("path"))
        .def("load", load, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("values").noconvert())
        .def("reduce", reduce, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("values").noconvert())
        .def("store", store, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert())
        .def("mul", mul, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("b").noconvert())
        .def("exp", exp, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("exponents").noconvert(), nb::arg("vartime"))
        .def("build_table", build_table, nb::arg("pool"), nb::arg("table").noconvert(),
             nb::arg("base").noconvert(), nb::arg("exponent_bits"), nb::arg("window_bits"))
        .def("exp_fixed", exp_fixed, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("table").noconvert(), nb::arg("exponents").noconvert(), nb::arg("exponent_bits"),
             nb::arg("window_bits"))
        .def("product_lines", product_lines, nb::arg("pool"), nb::arg("out").noconvert(),
             nb::arg("a").noconvert(), nb::arg("members").noconvert(), nb::arg("offsets").noconvert())
        .def("multi_exp", multi_exp, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
             nb::arg("exponents").noconvert(), nb::arg("negative").noconvert().none())
        .def("inv", inv, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert());
}

}  // namespace hekat::binding
