"""The execution environment: settings, inputs, start of jobs."""
