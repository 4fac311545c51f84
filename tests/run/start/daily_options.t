#!/bin/sh
# No option that users of other launchers type daily ends in "unknown option" alone: each is taken,
# or the error says what to write. daily_options is the list, by tool; habits.t says what becomes of
# those that are typed most.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

: >train.py
printf 'te1 slots=2\nte2 slots=2\n' >hosts
printf 'te1 gpu\nte2 gpu\n' >genders
printf 'distributed_type: MULTI_GPU\nnum_processes: 2\n' >acc.yaml
script_file d.sh <<'EOF'
#!/bin/sh
echo te1:2; echo te2:2
EOF
export PDSH_GENDERS_DIR="$PWD" PDSH_GENDERS_FILE=genders CLUSTERSHELL_CFGDIR="$PWD"

cat >typed.py <<'EOF'
# Prints the options of a tool that muster answers without advice.
import re, subprocess, sys

of_hosts = "-H --hosts -hosts -host --host --hostfile -hostfile --machinefile -machinefile -w --file " \
    "--nodelist --deepspeed_hostfile --mpirun_hostfile --host-discovery-script --default-hostfile " \
    "-g -a -A --group --machine --all -default-hostfile".split()

def forms(word):
    name, equals, value = word.partition("=")
    if not equals:
        return [[word]]
    glued = [name + value] if re.fullmatch("-[A-Za-z]", name) else [word] if word[:2] == "--" else None
    return [[name, value]] + ([glued] if glued else [])

def is_advised(subcommand, words):
    hosts = [] if words[0].split("=")[0] in of_hosts else ["-w", "te1,te2"]
    script = {"run": "train.py", "bcast": "train.py", "exec": "uptime"}[subcommand]
    done = subprocess.run(["muster", subcommand, "--dry-run", *hosts, *words, script],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    bare = re.search("unknown option [^:(]*$|is ambiguous|not an option of muster", done.stderr, re.M)
    return done.returncode < 128 and not bare

tried, silent = 0, []
for line in open(sys.argv[1]):
    tool, subcommand, *words = line.split()
    for words in (form for word in words for form in forms(word) if tool == sys.argv[2]):
        tried += 1
        if not is_advised(subcommand, words):
            silent.append(" ".join([tool, *words]))
print(tried, *silent, sep="; ")
EOF

# answered TOOL LEAST: at least so many lines were typed, and muster says what to write.
answered() {
    found=$(python3 typed.py options "$1")
    is "$1: each is taken or answered" "$(echo "$found" | sed 's/^[0-9]*//')" ""
    ok "... of $2 or more" test "${found%%;*}" -ge "$2"
}
grep -v '^#' "$top_srcdir/tests/run/start/daily_options" >options
answered deepspeed 40
answered torchrun 40
answered accelerate 150
answered openmpi 130
answered mpich 60
answered horovodrun 90
answered srun 200
answered pdsh 40
answered pdcp 15
answered clush 80
answered dsh 40
answered pssh 40
answered pscp 10
is "all tools were tried" "$(cut -d' ' -f1 options | sort -u | wc -l)" 13
echo 'odd run --no-such-option --epochs=3 -Y' >odd
is "an option that nobody knows is found" "$(python3 typed.py odd odd)" \
    "4; odd --no-such-option; odd --epochs 3; odd --epochs=3; odd -Y"
finish
