"""One file for each model family: its prompt, its audio encoder, its output."""
