"""Machine learning in pipelines, by the names of FlinkML, flink-ml and scikit-learn."""
