"""Classification: nearest neighbours, support vectors, logistic regression, naive Bayes."""
