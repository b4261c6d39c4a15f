"""Scalar LLVM IR, one thread for one lane: what the CUDA and AMDGPU backends share."""
