"""The project's own benchmarks: `python -m benchmarks` (README.md has the method, the workloads and
the goals)."""
