// The Python module hekat._native.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "binding/arrays.hpp"
#include "cpu/madd52_rate.hpp"

namespace {

namespace nb = nanobind;

std::vector<std::string> built_paths() {
    std::vector<std::string> names;
    for (const hekat::CpuPath path : hekat::kCpuPaths) {
        if (hekat::is_built(path)) names.emplace_back(hekat::name_of(path));
    }
    return names;
}

std::vector<std::string> lacks_for(const char* name) {
    const std::optional<hekat::CpuPath> path = hekat::path_named(name);
    hekat::binding::require(path.has_value(), "there is no such path");
    const std::vector<const char*> lacking = hekat::lacks_for(*path);
    return {lacking.begin(), lacking.end()};
}

// False once a signal handler has raised; the exception stays with the interpreter.
bool signals_are_quiet() {
    const nb::gil_scoped_acquire acquired;
    return PyErr_CheckSignals() == 0;
}

}  // namespace

NB_MODULE(_native, module) {
    // Engines live as long as the process: what is left at exit is no leak.
    nb::set_leak_warnings(false);
    module.attr("compiler") = HEKAT_COMPILER;
    module.def("built_paths", built_paths);
    module.def("lacks_for", lacks_for, nb::arg("path"));
    nb::class_<hekat::ThreadPool>(module, "ThreadPool")
        .def(
            "__init__",
            [](hekat::ThreadPool* self, std::size_t thread_count) {
                new (self) hekat::ThreadPool(thread_count, signals_are_quiet);
            },
            nb::arg("thread_count"))
        .def_prop_ro("thread_count", &hekat::ThreadPool::thread_count)
        .def("start", &hekat::ThreadPool::start, nb::call_guard<nb::gil_scoped_release>());
    module.def("madd52_per_ns", &hekat::madd52_per_ns, nb::call_guard<nb::gil_scoped_release>());
    hekat::binding::bind_modulus(module);
    hekat::binding::bind_integers(module);
    hekat::binding::bind_ring(module);
}
