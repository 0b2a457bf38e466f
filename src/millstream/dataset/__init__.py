"""The DataSet API: programs on bounded data, by Flink's names."""
