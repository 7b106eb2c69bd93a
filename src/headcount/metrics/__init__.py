"""What is expected of the number of rivals above a probe's mark: accuracy, the best m."""
