"""CleaneX of paper 001, as published and fast."""
