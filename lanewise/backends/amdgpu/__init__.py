"""AMD GPUs: code objects through LLVM's AMDGPU target, in wave64 and wave32."""
