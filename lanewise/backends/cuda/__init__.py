"""NVIDIA GPUs: PTX through LLVM's NVPTX target."""
