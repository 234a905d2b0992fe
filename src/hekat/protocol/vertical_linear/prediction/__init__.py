"""Joint prediction: the parties of one model compute scores that only the receivers learn."""
