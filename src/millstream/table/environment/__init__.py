"""The parts of a table environment: what it reads, keeps, registers and writes."""
