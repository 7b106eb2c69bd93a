"""Values over numbers of classes: observed, under a law, predicted; and the reversed ROC.

Public: `Observed`, `observe`, `Favorability`, `PredictedCurve`, the table `Curve`, `ROCCurve`,
`reversed_roc` and `class_averaged_roc`. All else is internal.
"""
