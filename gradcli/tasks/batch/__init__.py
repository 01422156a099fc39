"""`batch`: one program over many rows of data. `job` runs one from beginning to end: it cuts the data into blocks (`rows`),
has them computed (`block`) by threads, devices or a cluster (`workers`, `cluster`), writes what comes of it in order, and keeps
a `journal` from which a job that was interrupted goes on. `plan` is what all of them agree on."""
