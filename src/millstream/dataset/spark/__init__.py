"""Programs on data sets as DataFrames of Spark."""
