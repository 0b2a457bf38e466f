"""State apart from the program: what the slots of a job hold as tables, and slots made of tables."""
