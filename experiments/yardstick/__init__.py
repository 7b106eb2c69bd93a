"""The yardstick of the default: every method on the same pilots."""
