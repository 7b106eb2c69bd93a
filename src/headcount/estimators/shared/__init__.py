"""What several methods share; internal."""
