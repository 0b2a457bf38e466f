"""The tests: a package, so that tests and Spark's workers import helpers by one name."""
