"""A GPU emulated on the host: the same kernels, compiled by a C++ compiler, group after group."""
