"""SpeechLLMs: decoder-only models that take a chunk's speech between two stretches of prompt."""
