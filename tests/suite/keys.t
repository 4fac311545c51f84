#!/bin/sh
# Every key of ds_config.json that is said to work is used: what its row stores is read by whoever
# does the work, so that no key is taken and then forgotten without a word.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# unused TABLE: the rows whose field nobody reads. config/ itself counts for what it works out.
unused() {
    python3 - "$top_srcdir/trainer" "$1" <<'END'
import pathlib, re, sys
trainer = pathlib.Path(sys.argv[1])
def text(files):
    return "\n".join(file.read_text() for file in files)
everywhere = text(file for file in trainer.glob("*/*.[ch]") if file.parent.name != "config")
schedule = text([trainer / "config/schedule.c"])
config = text([trainer / "config/ds_config.c"])
rows = re.findall(r"^    (?:WORKS|WORKS_BUT|CHOICE|OF)\((.*?)\),$", open(sys.argv[2]).read(), re.S | re.M)
assert len(rows) > 60
for row in rows:
    words = re.split(r",\s*", row)
    name = words[-1].split(".")[-1]
    place = everywhere
    if row[0] not in "\"":
        place = schedule
    elif words[-1].startswith("elasticity.") or name in ("enabled", "param_dtype"):
        place = config # it decides by them
    if not re.search(r"(->|\.)" + name + r"\b", place):
        print(words[0] if place is not schedule else words[1])
END
}
table=$top_srcdir/trainer/config/ds_table.c
is "each is" "$(unused "$table")" ""
sed 's/^    WORKS("gradient_clipping"/    WORKS("nobody", DS_COUNT, "null", nobody),\n&/' "$table" >broken
is "one that is not is named" "$(unused broken)" '"nobody"'
finish
