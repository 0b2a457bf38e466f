"""The mathematics of algorithms written by hand: numpy, no streams, no Spark."""
