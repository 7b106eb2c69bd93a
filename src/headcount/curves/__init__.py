"""Values over numbers of classes: observed, under a law, predicted; and the reversed ROC."""
