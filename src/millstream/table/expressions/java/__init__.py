"""Rules of Java's library that Flink's functions follow: numbers, patterns, dates, random numbers."""
