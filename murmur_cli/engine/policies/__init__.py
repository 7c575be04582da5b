"""KV eviction policies: one rule per file, composed per region by the registry.

Pure integers: a policy never sees a tensor. Score-based policies come with their own issue.
"""
