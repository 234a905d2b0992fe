// The Python module hekat._native.
#include <nanobind/nanobind.h>

NB_MODULE(_native, module) { module.attr("compiler") = HEKAT_COMPILER; }
