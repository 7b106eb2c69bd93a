"""Fixtures of the tests of experiments."""

from experiment_fixtures import drawings, folder, settings, whole  # noqa: F401
