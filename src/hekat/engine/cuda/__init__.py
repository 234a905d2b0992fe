"""The engine for NVIDIA GPUs: kernels, what runs them, and what stays on a device. CuPy is imported on first use."""
