"""Readers of the files that people upload: plain Python, a row at a time, no silent guesses."""
