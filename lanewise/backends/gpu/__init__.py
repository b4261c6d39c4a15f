"""The run time that GPUs share: memory of their own, streams, launches; a backend adds its maker's library."""
