"""Running a plan on Spark: streaming queries or batch jobs over the kernel's stages."""
