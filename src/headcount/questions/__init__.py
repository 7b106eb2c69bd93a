"""What a user asks, one question in each file: forecast, compare, plan, gate, training, risk.

Public: what `headcount/__init__.pyi` lists of it, and the package `risk`. All else is internal.
"""
