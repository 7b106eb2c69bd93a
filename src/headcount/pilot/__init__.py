"""The experiment you have: `Pilot`, what it is made of, and how files become one.

Public: `Pilot`, and the package `loading` as far as its `__all__` goes. All else is internal.
"""
