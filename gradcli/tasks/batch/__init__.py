"""`batch`: one program over many rows of data. `job` runs one from beginning to end, as a `request`
asks: it cuts the data into blocks (`rows`) and has them computed (`block`) by processes, by threads
for GPUs (`workers`), or on a `cluster`. `output` writes what comes of it in order, and keeps a
`journal` from which a job that was interrupted goes on. A `plan` is what all of them agree on."""
