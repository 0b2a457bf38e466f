"""Machine learning on Spark: DataFrames, and the algorithms of pyspark.ml."""
