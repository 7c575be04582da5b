"""Plain float64 references of the ops, written for reading, without Triton."""
