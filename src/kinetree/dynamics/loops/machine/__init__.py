"""Machine code of closed loops that is compiled by itself, without the kernels that all share."""
