"""What a user asks, one question a file: forecast, compare, plan, gate, training, risk."""
