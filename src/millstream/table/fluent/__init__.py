"""The expressions that programs of the Table API write, and the SQL that stands for them."""
