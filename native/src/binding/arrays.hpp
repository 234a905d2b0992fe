// NumPy arrays as the native core sees them, and the way out of the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <stdexcept>

#include "batch/residues.hpp"
#include "batch/thread_pool.hpp"
#include "cpu/features.hpp"

namespace hekat::binding {

namespace nb = nanobind;

// (count, limbs) of uint64, read or written in place: never converted, never copied.
using LimbInput = nb::ndarray<const Limb, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using LimbOutput = nb::ndarray<Limb, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WordInput = nb::ndarray<const Limb, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WordOutput = nb::ndarray<Limb, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndexInput = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BoolInput = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BoolOutput = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// hekat.engine.cpu checks everything first; this keeps a slip there from reaching memory.
inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

inline CpuPath path_of(const char* name) {
    const std::optional<CpuPath> path = path_named(name);
    require(path && can_take(*path), "no path of this processor");
    return *path;
}

inline void require_shape(const LimbOutput& array, std::size_t count, std::size_t limbs) {
    require(array.shape(0) == count && array.shape(1) == limbs, "output has the wrong shape");
}

// An operand of `count` items, or of a single one that stands for all of them.
inline Items items_of(const LimbInput& array, std::size_t count) {
    require(array.shape(0) == count || array.shape(0) == 1, "operand has the wrong count");
    return {array.data(), array.shape(1), array.shape(0) != count};
}

// Runs work with the interpreter lock released; a signal handler's exception comes out as Python raised it.
template <typename Work>
auto without_gil(const Work& work) {
    try {
        const nb::gil_scoped_release released;
        return work();
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

void bind_integers(nb::module_& module);
void bind_modulus(nb::module_& module);
void bind_ring(nb::module_& module);

}  // namespace hekat::binding
