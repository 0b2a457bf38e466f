"""Running plans of tables, and the changes that come out of them."""
