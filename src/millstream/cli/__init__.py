"""The command line `millstream`: start jobs, look at them, stop them, and read their savepoints."""
