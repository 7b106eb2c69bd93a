"""The default method: a likelihood fit that a learned network corrects."""
