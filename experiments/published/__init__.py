"""Forecasts held against published measurements of real systems at several sizes."""
