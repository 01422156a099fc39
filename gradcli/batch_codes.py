"""The codes of what `batch` finds in its data."""

from __future__ import annotations

from .lang.codes import Code

CODES = {
    "E009": Code(
        "a cluster can't do the job",
        "No scheduler answers at the address of --scheduler, or it has stopped. Or the workers "
        "lack gradcli, have another\n"
        "version of it, or can't read the data.",
        "The message says which. Finished blocks are kept: the same command with --resume "
        "continues, on any machine.",
    ),
    "E605": Code(
        "a row can't be read",
        "A cell isn't a number although the program computes with it, or is a number that "
        "float64 would change (1e400, 1e-400,\n"
        "9007199254740993). Or the row has more or fewer cells than the first line. The rejects "
        "file has the row's number and\n"
        "the cell; the other rows are computed.",
        "Correct the data, or leave the row out. An empty cell is a missing value, for which the "
        "program's own value is used.",
        "$ printf 'x\\n1\\nbanana\\n' | gradcli batch -e 'x**2'",
    ),
    "E606": Code(
        "a result is nan",
        "`batch --nan error` rejects a row if one of its outputs or gradients is nan.",
        "`gradcli eval --debug-nan` with the row's values shows where it comes from. `--nan "
        "keep` (the default) writes it.",
        "$ printf 'x\\n1\\n-1\\n' | gradcli batch -e 'log(x)' --nan error",
    ),
    "E607": Code(
        "a row's results don't fit into the columns",
        "The first rows that succeed decide the columns of the output. This row has another "
        "shape, text where the others have\n"
        "numbers, or a name that they don't have. Or it has a float in a column whose ints are "
        "already written to a pipe, or\n"
        "were read from one, so that the job can't begin again.",
        "Pad arrays to one shape, give every name a value on every path, write `1.0 * n` for "
        "ints beside floats, or compute\n"
        "such rows in a job of their own.",
        '$ printf \'{"x": [1]}\\n{"x": [1, 2]}\\n\' > d.jsonl\n'
        "$ gradcli batch -e 'x**2' --rows d.jsonl -o - --out-format jsonl",
    ),
    "E608": Code(
        "a part of the data can't be read",
        "One of several files is damaged, has disappeared, or has other columns. Its rows are "
        "missing from the output, and the\n"
        "rejects file says so. The other parts are computed.",
        "Write that file again, and repeat the job.",
        "$ mkdir d; printf 'x\\n1\\n' > d/1.csv; printf 'y\\n1\\n' > d/2.csv\n"
        "$ gradcli batch -e 'x**2' --rows d -o - --out-format csv",
    ),
    "E609": Code(
        "a job can't be continued",
        "`--resume` continues an interrupted job after its finished blocks. These blocks belong "
        "to another job: the program,\n"
        "the options or the data have changed. Or files in the folder `OUT.partial` are missing "
        "or damaged.\n"
        "Or the data changed while the job read it, so that old and new rows may be mixed. "
        "Nothing is written to OUT then.",
        "Leave out --resume to begin again; this deletes the finished blocks.",
        "$ printf 'x\\n1\\n-1\\n' > d.csv\n"
        "$ gradcli batch -e 'log(x)' --rows d.csv -o y.csv --block-rows 1 --nan error --on-error "
        "fail\n"
        "$ gradcli batch -e 'exp(x)' --rows d.csv -o y.csv --block-rows 1 --resume",
    ),
}
