"""The demonstration of `lanewise demo`; `kernels` is the file to read first."""
