"""The logical graph of a job, the rules that turn it into stages, and how both are explained."""
