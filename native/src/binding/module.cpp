// The Python module hekat._native.
#include "binding/arrays.hpp"
#include "cpu/madd52_rate.hpp"

namespace {

namespace nb = nanobind;

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
    nb::class_<hekat::ThreadPool>(module, "ThreadPool")
        .def(
            "__init__",
            [](hekat::ThreadPool* self, std::size_t thread_count) {
                new (self) hekat::ThreadPool(thread_count, signals_are_quiet);
            },
            nb::arg("thread_count"))
        .def_prop_ro("thread_count", &hekat::ThreadPool::thread_count);
    module.def("madd52_per_ns", &hekat::madd52_per_ns, nb::call_guard<nb::gil_scoped_release>());
    hekat::binding::bind_modulus(module);
    hekat::binding::bind_integers(module);
}
