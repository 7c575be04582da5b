"""The decode engine: it owns the KV memory, decides what each step reads, keeps the batch full.

See ARCHITECTURE.md for the words used here (region, arena, selection, policy, request).
"""
