"""Jobs: submit, watch, control."""
