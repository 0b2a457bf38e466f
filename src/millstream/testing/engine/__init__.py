"""The engine that runs programs in memory."""
