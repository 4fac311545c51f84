#!/bin/sh
# restart_rank.sh DIR TIMES PYTHON - contrib/examples/train_elastic.py as a rank; rank 1 is killed
#
# TIMES times, once something was saved that all ranks of its generation have trained; at last all end
# well. DIR/began.RANK has a line with the time of each start, before anything else is done, and
# DIR/killed one of each kill.
# SPDX-License-Identifier: Apache-2.0
began=$(date +%s.%N)
dir=$1
echo "$began" >>"$dir/began.$RANK"
killed=$(wc -l 2>/dev/null <"$dir/killed")
steps=0
[ "${killed:-0}" -ge "$2" ] || steps=1000000

train() {
    "$@" -B "${0%/*}/../../contrib/examples/train_elastic.py" --checkpoint "$dir/model.pt" \
        --steps "$steps" --every 5 --pause 0.05
}
if [ "$RANK" != 1 ] || [ "$steps" = 0 ]; then
    train exec "$3"
fi
touch "$dir/began"
train "$3" &
until [ "$dir/model.pt" -nt "$dir/began" ]; do
    kill -0 $! || exit 1
    sleep 0.05
done
date +%s.%N >>"$dir/killed"
kill -KILL $! $$
