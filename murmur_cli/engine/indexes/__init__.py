"""Indexes of the retrieval policies: one policy, one file; what several share beside them."""
