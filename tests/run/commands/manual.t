#!/bin/sh
# The manual, the example settings and the program know the same options.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

muster --list-options | awk '{ print $1 }' | tr '_' '-' | sort -u >known
ok "there are options" test "$(wc -l <known)" -gt 30

# defined_options PAGE...: the options that these pages define. There "-" is written "\-", and the
# line after .TP has the names.
defined_options() {
    sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' "$@" | awk '/^\.TP/ { getline; print }' |
        grep -oE -e '--[a-z][a-z0-9_-]*' | sed 's/^--//' | tr '_' '-' | sort -u
}
# The other pages of section 1 are about programs that have options of their own.
defined_options "$top_srcdir/doc/muster.1" "$top_srcdir"/doc/muster-*.7 \
    "$top_srcdir"/doc/muster-bcast.1 "$top_srcdir"/doc/muster-bootstrap.1 \
    "$top_srcdir"/doc/muster-check.1 "$top_srcdir"/doc/muster-clean.1 \
    "$top_srcdir"/doc/muster-exec.1 >documented
missing=$(comm -23 known documented | tr '\n' ' ')
is "the manual has every option" "$missing" ""

# section SUBCOMMAND: what muster.1 and muster-elastic.7 say about it, and its own page.
section() {
    sed -n "/^\\.SS muster .*\<$1\>/,/^\\.S[SH] /p" "$top_srcdir/doc/muster.1" "$top_srcdir/doc/muster-elastic.7" |
        sed 's/\\-/-/g'
    own=$top_srcdir/doc/muster-$1.1
    [ ! -e "$own" ] || sed 's/\\-/-/g' "$own" "$top_srcdir/doc/$(sed -n '1s/^\.so man[0-9]\///p' "$own")" 2>/dev/null
}
subcommands="run exec shell check clean bcast collect bootstrap doctor attach status stop kill drain scale stacks open resume"
is "muster.1 has a section for each subcommand" \
    "$(for word in $subcommands help; do section "$word" | grep -q . || echo "$word"; done)" ""
is "... and a line of the synopsis" "$(for word in $subcommands help; do
    sed -n '/^.SH SYN/,/^.SH DESC/p' "$top_srcdir/doc/muster.1" | sed 's/\\f[A-Z]//g' |
        grep -q -e "^muster $word\>" -e "^muster \[$word\]" || echo "$word"
done)" ""
ok "muster.1 has at most 700 lines: what everybody needs" test "$(wc -l <"$top_srcdir/doc/muster.1")" -le 700
muster --list-options | awk '$5 !~ /,/ && $5 != "run" && $5 != "-" { print $5, $1 }' >own
ok "some have options that no other has" test "$(wc -l <own)" -gt 4
is "... which are in their section" "$(while read -r word option; do
    section "$word" | grep '^\.B' | grep -q -e "--$option" || echo "$word --$option"
done <own)" ""

# --local_rank is what the scripts get.
for word in "" $subcommands; do
    muster $word --help
done | grep -oE -e '--[a-z][a-z0-9_-]*' | sed 's/^--//' | tr '_' '-' | sort -u >helped
is "--help invents none" "$(comm -13 known helped | grep -vx local-rank | tr '\n' ' ')" ""
ok "--help is short enough to read" test "$(muster --help | wc -l)" -le 50
for word in $subcommands; do
    ok "muster $word --help is, too" test "$(muster $word --help | wc -l)" -le 40
    ok "... and has its own synopsis" sh -c "muster $word --help | head -n 1 | grep -q 'usage: muster.*\<$word\>'"
done
is "all fit 80 columns" "$(for word in "" $subcommands; do muster $word --help; done | awk 'length > 80')" ""

if need_trainer >/dev/null; then
    sed 's/\\-/-/g' "$top_srcdir/doc/muster-train.1" "$top_srcdir/doc/muster-check.1" >train-page
    # options_of SECTION and HELP: what they name.
    options_of() {
        sed -n "/^\.SH $1\$/,/^\.SH /p" train-page | grep -oE -e '--[a-z][a-z_-]*' | sort -u
    }
    for program in train check sample merge tokenize; do
        case $program in
        train) section="OPTIONS OF THE TRAINING" ;;
        check) section="ARGUMENTS OF MUSTER-TRAIN CHECK" ;;
        sample) section="OPTIONS OF SAMPLE" ;;
        merge) section="OPTIONS OF MERGE" ;;
        tokenize) section="OPTIONS OF TOKENIZE" ;;
        esac
        muster-train $program --help | grep -oE -e '^ .*--[a-z][a-z_-]*' |
            grep -oE -e '--[a-z][a-z_-]*' | sort -u >helped
        is "the manual has the options of muster-train $program" \
            "$(options_of "$section" | grep -vxE -e '--(deepspeed|local_rank)' | comm -3 helped - | tr '\n' ' ')" ""
    done
    echo '{ "train_batch_size": 12, "optimizer": { "type": "Adam" }, "elasticity": { "enabled": false } }' >ds.json
    is "... and every key that has an effect" "$(muster-train --deepspeed_config ds.json --print-config |
        sed -n 's/^ *"\([a-z0-9_]*\)":.*/\1/p' | sort -u | while read -r key; do
            sed -n '/^\.SH KEYS/,/^\.SH SIG/p' train-page | grep -qw "$key" || echo "$key"
        done)" ""
    is "... and every exit status of the check" "$(sed -n '/^\.SH LAYERS/,$p' train-page |
        grep -c '^[0-9]$')" 8
else
    for _ in 1 2 3 4 5 6 7; do skip "muster-train.1" "muster-train was not built"; done
fi

if [ -x "$top_builddir/k8s/muster-k8s" ]; then
    muster k8s help | sed -n 's/^  \([a-z]*\) .*/\1/p' >words
    ok "muster k8s has subcommands" test "$(wc -l <words)" -gt 10
    while read -r word; do
        muster k8s "$word" --help >"help.$word" && head -n 1 "help.$word" |
            grep -q "^usage: muster k8s $word " && [ "$(wc -l <"help.$word")" -le 40 ] ||
            echo "$word"
    done <words >odd
    is "each has a short help" "$(cat odd)" ""
    is "... and is in the manual's synopsis" "$(while read -r word; do
        sed '/^.SH DESCRIPTION/,$d' "$top_srcdir/doc/muster-k8s.1" | grep -q "\<$word\>" || echo "$word"
    done <words)" ""
    is "... of 80 columns" "$(cat help.* | awk 'length > 80')" ""
    sed -e 's/\\-/-/g' "$top_srcdir/doc/muster-k8s.1" | grep '^\.B' |
        grep -oE -e '--[a-zA-Z][a-zA-Z_-]*' | sort -u >documented
    is "... and muster-k8s.1 has what it names" "$(cat help.* | grep -oE -e '--[a-zA-Z][a-zA-Z-]*' |
        sort -u | comm -23 - documented | tr '\n' ' ')" ""
    muster k8s help get >printed
    ok "muster k8s help get prints it, too" cmp printed help.get
    run muster k8s submit --image i --help
    is "--help may come after other options" "$rc $(head -n 1 out | cut -d ' ' -f 1-4)" "0 usage: muster k8s submit"
    run muster k8s submit --name j --image i --dry-run train.py --help
    ok "what comes after the script is the script's" grep -q -e "- '\?--help" out
else
    for _ in 1 2 3 4 5 6 7 8; do skip "muster-k8s.1" "muster-k8s was not built"; done
fi

# muster help opens the manual page on a terminal, if man finds one.
muster exec --help >expected
muster help exec >printed
ok "muster help exec, not on a terminal, prints the help" cmp expected printed
run muster help exce
is "muster help of what is no subcommand: usage" "$rc" 2
if need_pty; then
    mkdir bin
    script_file bin/man <<'END'
#!/bin/sh
# Of all pages, only those named in $PAGES are installed.
[ "$1" = -w ] || { echo "this is $1(1)"; exit; }
case " $PAGES " in *" $2 "*) echo "/usr/share/man/man1/$2.1.gz" ;; *) echo "This system has been minimized." ;; esac
END
    # on_terminal PAGES: what muster help exec prints on a terminal.
    on_terminal() {
        env PAGES="$1" PATH="$PWD/bin:$PATH" script -qec "muster help exec" typescript </dev/null |
            tr -d '\r'
    }
    is "on a terminal the subcommand's page opens" "$(on_terminal "muster muster-exec")" "this is muster-exec(1)"
    is "... else muster's" "$(on_terminal muster)" "this is muster(1)"
    is "... else the help is printed" "$(on_terminal "")" "$(cat expected)"
else
    for _ in 1 2 3; do skip "muster help on a terminal" "script(1) is missing"; done
fi

sed -n 's/^#* *\([a-z][a-z0-9_-]*\) *=.*/\1/p' "$top_srcdir/conf/muster.conf" | tr '_' '-' | sort -u >example
is "the example conf invents none" "$(comm -13 known example | tr '\n' ' ')" ""

# num_accelerators is another name for num_gpus.
sed -n -e 's/\\-/-/g' -e 's/^\([a-z][a-z_-]*\) = .*/\1/p' "$top_srcdir/doc/muster.conf.5" |
    tr '_' '-' | grep -vxE 'num-accelerators|fanout|label|env' | sort -u >settings
grep -vxE 'fanout|label|env' example >examples
is "muster.conf.5 lists the settings of the example" "$(comm -3 examples settings | tr '\n' ' ')" ""

if command -v bash >/dev/null; then
    # shellcheck disable=SC2016,SC2086
    is "the completion knows the subcommands" "$(bash -c '. "$0"; for word; do
        COMP_WORDS=(muster "$word") COMP_CWORD=1; _muster
        [[ " ${COMPREPLY[*]} " == *" $word "* ]] || echo "$word"
    done' "$top_srcdir/contrib/completion/muster" $subcommands help 2>/dev/null)" ""
    # shellcheck disable=SC2016
    is "it offers what a subcommand takes" "$(bash -c '. "$0"; for word in "clean --k" "exec --k" "exec --fo" "run --fo"; do
        read -ra COMP_WORDS <<<"muster $word"; COMP_CWORD=2; _muster
        echo "$word: ${COMPREPLY[*]}"
    done' "$top_srcdir/contrib/completion/muster" 2>/dev/null | tr '\n' ';')" \
        "clean --k: --kill --kill-gpu;exec --k: ;exec --fo: --force_multi --fold;run --fo: --force_multi --fold;"
    printf 'te1 slots=2\nte[2-3] slots=2\n' >hosts
    : >clever.py
    # completed WORDS...: what the completion offers for the last of them.
    # shellcheck disable=SC2016
    completed() {
        bash -c '. "$0"; COMP_WORDS=(muster "$@") COMP_CWORD=$#; _muster
            echo "${COMPREPLY[*]}"' "$top_srcdir/contrib/completion/muster" "$@" 2>/dev/null
    }
    is "subcommands come before files" "$(completed c)" "check clean collect clever.py"
    is "programs come if there is nothing else" "$(completed unam | tr ' ' '\n' | sort -u)" "uname"
    is "hosts of the hostfile" "$(completed --hostfile = hosts -i te)" "te1 te2 te3"
    is "... after another one" "$(completed exec -H hosts --exclude te1 @ te2)" "te2"
    is "... and after '@' alone" "$(completed -H hosts -e te1 @)" "te1 te2 te3"
    is "what is refused is not offered" "$(completed status --a)" ""
    is "an option's words" "$(completed --recovery e) $(completed --max-wait '') $(completed --spot a)
$(completed --notice-signal USR) $(completed --notice-signal no) $(completed clean --kill-gpu mi)" \
        "elastic auto auto alibaba aws azure
USR1 USR2 none mine"
    run muster --transport exec --name comes -H node1:2,node2:1 true
    is "runs, and then their nodes, for muster drain" "$(completed drain "")
$(completed drain comes "") $(completed drain --within 5m comes node2)" "$(muster status |
        sed -n '2s/ .*//p')
node1 node2 node2"
    is "after the script files only" "$(completed -H hosts clever.py cl)" "clever.py"
else
    skip "the completion" "bash is missing"
fi

for page in "$top_srcdir"/doc/*.[0-9]; do
    page=${page##*/}
    other=$(sed -n '1s/^\.so man[0-9]\///p' "$top_srcdir/doc/$page")
    if [ -n "$other" ]; then
        ok "$page is $other" test -e "$top_srcdir/doc/$other"
    elif command -v man >/dev/null; then
        is "$page is clean" \
            "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$top_srcdir/doc/$page" 2>&1 >/dev/null)" ""
    else
        skip "$page is clean" "man(1) is missing (Debian: man-db)"
    fi
done
ok "--version names the libraries" sh -c "muster --version | grep -qi libssh"
if command -v readelf >/dev/null; then
    linked=static
    ! readelf -lW "$top_builddir/agent/muster-agent" | grep -q INTERP || linked=dynamic
    is "--version says how the agent is linked" \
        "$(muster --version | sed -n 's/^ *agent: \([a-z]*\);.*/\1/p')" "$linked"
else
    skip "--version says how the agent is linked" "readelf is missing (Debian: binutils)"
fi
finish
