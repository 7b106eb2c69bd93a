"""The experiments of the five papers, one a file."""
