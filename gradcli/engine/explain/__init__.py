"""Why is a gradient none, zero or nan?

All answers are read from the trace of a run that keeps everything; `ancestry` indexes it. `reasons`
finds why a gradient is none, `zeros` why it is zero, and `nonfinite` and `blame` which operation
made a nan or an infinity. `walks` is a sweep that remembers where each cotangent came from;
`elements` restricts it to one element of an array.
"""
