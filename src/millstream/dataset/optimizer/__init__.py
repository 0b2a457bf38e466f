"""What decides where and how operators run, and says so."""
