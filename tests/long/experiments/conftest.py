"""Fixtures of the long tests of experiments."""

from experiment_fixtures import drawings, folder, settings, whole  # noqa: F401
