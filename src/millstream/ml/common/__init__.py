"""What the stages of machine learning share: parameters and windows."""
