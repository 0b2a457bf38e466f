"""Types of records: how they are declared, inferred, and stored as Arrow columns."""
