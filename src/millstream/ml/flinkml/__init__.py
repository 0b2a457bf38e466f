"""FlinkML 1.x: its stages by its names, over the same algorithms as flink-ml's."""
