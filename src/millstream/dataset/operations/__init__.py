"""The methods of data sets, by subject."""
