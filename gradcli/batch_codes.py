"""The codes of what `batch` finds in its data."""

from __future__ import annotations

from .lang.codes import Code

CODES = {
    "E009": Code(
        "a cluster can't do the job",
        "No scheduler answers at the address of --scheduler, or it is gone; or its workers lack gradcli, have another version,\n"
        "or don't see the data.",
        "The message says which. Finished blocks are kept: the same command with --resume goes on from there, on any machine.",
    ),
    "E605": Code(
        "a row can't be read",
        "A cell isn't what its column needs (a number where the program computes with it), or it is a number that float64 would\n"
        "change (1e400, 1e-400, 9007199254740993), or the row has more or fewer cells than the first line. The row goes to the\n"
        "rejects file, with its number and the cell; the others are computed.",
        "Correct the data, or leave the row out. An empty cell is a missing value: the program's own value holds then.",
        "$ printf 'x\\n1\\nbanana\\n' | gradcli batch -e 'x**2' --rows - --rows-format csv -o - --out-format csv",
    ),
    "E606": Code(
        "an answer is nan",
        "Under `batch --nan error` a row is rejected if one of its outputs or gradients is nan.",
        "`gradcli eval --debug-nan` with the row's values says where it comes from; `--nan keep` (the default) writes it.",
        "$ printf 'x\\n1\\n-1\\n' | gradcli batch -e 'log(x)' --rows - --rows-format csv -o - --out-format csv --nan error",
    ),
    "E607": Code(
        "a row's answer doesn't fit into the columns",
        "The columns of the output are those of the first rows that succeed. This row gives another shape, text where the\n"
        "others have numbers, or a name that they don't have; or a float where ints were written already that can't be read\n"
        "and written again, from a pipe or to one.",
        "Pad arrays to one shape, give every name a value on every path, write `1.0 * n` for ints beside floats, or compute\n"
        "such rows in a job of their own.",
        '$ printf \'{"x": [1]}\\n{"x": [1, 2]}\\n\' > d.jsonl\n'
        "$ gradcli batch -e 'x**2' --rows d.jsonl -o - --out-format jsonl",
    ),
    "E608": Code(
        "a part of the data can't be read",
        "One of several files is damaged, is no longer there, or has other columns. Its rows are missing from the output, and\n"
        "the rejects file says so; the other parts are computed.",
        "Write that file again, and run the job once more.",
        "$ mkdir d; printf 'x\\n1\\n' > d/1.csv; printf 'y\\n1\\n' > d/2.csv\n"
        "$ gradcli batch -e 'x**2' --rows d -o - --out-format csv",
    ),
    "E609": Code(
        "a job can't go on from what is there",
        "`--resume` goes on with the blocks that an interrupted job has finished. These are of another job: another program,\n"
        "other options, or data that has changed since. Or files in the folder `OUT.partial` are gone or damaged.\n"
        "Or the data changed while the job read it: its rows may be of the old data or of the new, and nothing is delivered.",
        "Leave out --resume to begin anew, which throws them away.",
        "$ printf 'x\\n1\\n-1\\n' > d.csv\n"
        "$ gradcli batch -e 'log(x)' --rows d.csv -o y.csv --block-rows 1 --nan error --on-error fail\n"
        "$ gradcli batch -e 'exp(x)' --rows d.csv -o y.csv --block-rows 1 --resume",
    ),
}
