"""Parameters and windows that stages of machine learning share."""
