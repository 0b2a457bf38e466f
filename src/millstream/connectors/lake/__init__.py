"""Tables of Parquet files with a log of transactions: Delta and Iceberg."""
