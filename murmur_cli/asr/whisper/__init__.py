"""Whisper on the decode engine: windows of at most 30 s, decoded with timestamps."""
