// hekat._native: integer operations.
#include "batch/integers.hpp"

#include <algorithm>

#include "binding/arrays.hpp"

namespace hekat::binding {
namespace {

void int_add(ThreadPool& pool, const LimbOutput& out, const LimbInput& a, const LimbInput& b) {
    const std::size_t count = out.shape(0);
    require_shape(out, count, std::max(a.shape(1), b.shape(1)) + 1);
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    without_gil([&] { add_integers(pool, out.data(), left, right, count); });
}

void int_sub(ThreadPool& pool, const LimbOutput& out, const BoolOutput& below, const LimbInput& a,
             const LimbInput& b) {
    const std::size_t count = out.shape(0);
    require_shape(out, count, std::max(a.shape(1), b.shape(1)));
    require(below.shape(0) == count, "output has the wrong shape");
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    without_gil([&] { subtract_integers(pool, out.data(), below.data(), left, right, count); });
}

void int_mul(ThreadPool& pool, const char* path, const LimbOutput& out, const LimbInput& a,
             const LimbInput& b) {
    const std::size_t count = out.shape(0);
    require_shape(out, count, a.shape(1) + b.shape(1));
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    const CpuPath arithmetic = path_of(path);
    without_gil([&] { multiply_integers(pool, arithmetic, out.data(), left, right, count); });
}

void int_divmod(ThreadPool& pool, const LimbOutput& quotient, const LimbOutput& remainder, const LimbInput& a,
                const LimbInput& b) {
    const std::size_t count = quotient.shape(0);
    require_shape(quotient, count, a.shape(1));
    require_shape(remainder, count, b.shape(1));
    const Items left = items_of(a, count);
    const Items right = items_of(b, count);
    without_gil([&] { divide_integers(pool, quotient.data(), remainder.data(), left, right, count); });
}

}  // namespace

void bind_integers(nb::module_& module) {
    module.def("int_add", int_add, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("a").noconvert(),
               nb::arg("b").noconvert());
    module.def("int_sub", int_sub, nb::arg("pool"), nb::arg("out").noconvert(), nb::arg("below").noconvert(),
               nb::arg("a").noconvert(), nb::arg("b").noconvert());
    module.def("int_mul", int_mul, nb::arg("pool"), nb::arg("path"), nb::arg("out").noconvert(),
               nb::arg("a").noconvert(), nb::arg("b").noconvert());
    module.def("int_divmod", int_divmod, nb::arg("pool"), nb::arg("quotient").noconvert(),
               nb::arg("remainder").noconvert(), nb::arg("a").noconvert(), nb::arg("b").noconvert());
}

}  // namespace hekat::binding
