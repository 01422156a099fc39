"""One file a workload. Each defines `WORKLOAD`; its name is the file's."""
