"""Random recognition problems whose truth is known."""
