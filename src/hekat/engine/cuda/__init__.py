"""The engine for NVIDIA GPUs: kernels, their launches, and results that stay on a device. Imports CuPy on first use."""
