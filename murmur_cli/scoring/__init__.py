"""Errors of transcripts against references: words, words with speakers, speaker time."""
