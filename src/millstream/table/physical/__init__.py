"""From the algebra of queries to nodes of the job graph."""
