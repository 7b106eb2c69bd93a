"""What a user asks, one question in each file: forecast, compare, plan, gate, training, risk."""
