"""Every line of Warp: batch-first kernels, float64 or float32, CPU or CUDA."""
