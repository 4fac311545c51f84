#!/bin/sh
# Texts are plain English, and one thing has one word.
#
# Three tables, REGEX | what to write instead: phrases must not appear in any text, nor in a
# comment; stiff ones not in what users read (manuals and messages); old words nowhere, not
# even as names in the code. A legitimate use goes into the fourth, with its reason.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

phrases() {
    cat <<'END'
(to|can|could|may|cannot) be had                | is available, is there
st(and|ands|ood|anding) still                   | hangs, stalls, does nothing
for so long                                     | for this long
go(es)? for each|that goes for                  | applies to
all the same                                    | even so, anyway
nobody takes                                    | the reader has stalled
does not confirm                                | could not verify
he|him|his|himself                              | the reader, the user, they
so many [a-zA-Z ]*(at once|more)                | at most this many
not always is|warned about are                  | subject before verb
So (long, too, )?(does|do|is|are|has|have|can)  | subject before verb
Nor (does|do|is|are|has|have|can|could|must)    | subject before verb
whom [a-z]+ nobody|of whom nobody               | that nobody
nobody|whoever|whomever                         | no rank, no process; the caller, the user
(is|are|was|were) told                          | receives, knows, gets a notice
(is|are|was|were) to [a-z]+                     | must, will
(has|have|had|takes?) (no )?effect|without effect | is ignored, applies
anew|hitherto|there(by|in|of)|where(by|upon)    | again, and a sentence of its own
there is no (program|subcommand|option|key) '   | unknown program '...'
(one|agent|command|connection|file|machine|option|process|rank|row|setting) a (GPU|host|line|node|rank|run|slot) | one per node
END
}

stiff() {
    cat <<'END'
(go|goes|went|going) on                         | continues, is running, happens
by (itself|themselves)                          | on its own, without help
stands? (above|behind|below|here|in|on|there)   | is, precedes, follows
behind ('--'|'='|"="|slots=N|the (name|'='|"=")) | after
which is said|are told of|without a word        | and says so, are reported
as often as one likes                           | any number of times
(is|are) to go                                  | leaves, will leave
(for|in|of|only|wait|dropped:) so (many|long)   | this long, the number of
(is|are) no (run|rank|hang|option|file)'s       | is not a run's
END
}

old_words() {
    cat <<'END'
redial[a-z_]*|doors?|nameplates?               | reconnect, name_lock
strays|litter[a-z_]*|errands?                  | orphans, stale files, node_job
sweep|sweeps|sweeping|swept                    | clean up, cleaned up
keepers?|grumbles?|[a-z_]*_news|news_[a-z]+    | guard, stderr_text, events
(its|the|a|each) brief|brief_[a-z]+            | plan, plan_encode
kept_(run|list|find|state)[a-z_]*|replay(_[a-z]+)?|nodeplan[a-z_]*  | history, resend_queue, node_plan
(beat|alike|pace)_[a-z]+|given_add[a-z_]*      | heartbeat, common_text, bcast_progress, saved_options
(intake|incoming)(_[a-z]+)?|struct beneath|beneath_[a-z]+ | agent_frames, safe_openat
(silence|gap|view|visible|printable|foreign|orders)_[a-z]+ | liveness, unreachable_pairs, rank_labels, sanitize, other_launchers, launcher_frames
END
}

# FILE:LINE: TEXT, as a regex.
allowed() {
    cat <<'END'
doc/muster-agent.8:.* belong to nobody | the user nobody, whose the kernel shows unmapped files to be
launcher/transport/ssh/handshake.c:.* news_cb | of the route, not of the guard
END
}

# column N: that column of a table, without the blanks around it.
column() {
    awk -F ' +[|] ' -v n="$1" '{ sub(/ +$/, "", $n); print $n }'
}

# texts FILE...: one line a paragraph, comment or string: FILE:LINE: text
texts() {
    awk '
    function flush() {
        gsub(/[ \t]+/, " ", text)
        gsub(/^ | $/, "", text)
        if (text != "")
            printf "%s:%d: %s\n", name, line, text
        text = ""
    }
    function add(more) {
        if (text == "")
            line = FNR
        text = text " " more
    }
    function add_roff(more) {
        if (more ~ /^\.\\"/ || more ~ /^\.(TH|nf|fi|EX|EE|in|RS|RE)/)
            return
        if (more ~ /^\.(SH|SS|TP|TQ|PP|IP|PD|br)/)
            flush()
        sub(/^\.[A-Z]+ ?/, "", more)
        gsub(/\\f[A-Z]/, "", more)
        gsub(/\\-/, "-", more)
        gsub(/"/, "", more)
        add(more)
    }
    FNR == 1 {
        flush()
        name = FILENAME
    }
    name ~ /\.[0-9]$/ { add_roff($0); next }
    /^[ \t#]*$/ { flush(); next }
    /^\* / { flush() }
    { add($0) }
    END { flush() }
    ' "$@"
}

# c_texts WHAT FILE...: the same of C: "comments", or "strings": adjacent ones are one.
c_texts() {
    what=$1
    shift
    awk -v what="$what" '
    function flush() {
        gsub(/[ \t]+/, " ", text)
        gsub(/^ | $/, "", text)
        if (text != "")
            printf "%s:%d: %s\n", name, line, text
        text = ""
    }
    function add(more) {
        if (text == "")
            line = FNR
        text = text more
    }
    # Takes one token from the front of rest.
    function take(   n) {
        if (in_comment) {
            n = index(rest, "*/")
            more = n > 0 ? substr(rest, 1, n - 1) : rest
            sub(/^ *\*/, "", more)
            if (what == "comments")
                add(" " more)
            rest = n > 0 ? substr(rest, n + 2) : ""
            in_comment = n == 0
            if (!in_comment && what == "comments")
                flush()
        } else if (substr(rest, 1, 2) == "/*") {
            in_comment = 1
            rest = substr(rest, 3)
        } else if (substr(rest, 1, 2) == "//") {
            rest = ""
        } else if (match(rest, /^"([^"\\]|\\.)*"/)) {
            if (what == "strings")
                add(substr(rest, 2, RLENGTH - 2))
            rest = substr(rest, RLENGTH + 1)
        } else if (match(rest, /^\047([^\047\\]|\\.)*\047/)) {
            rest = substr(rest, RLENGTH + 1)
        } else {
            match(rest, /^[^"\047\/]+|^./)
            if (what == "strings" && substr(rest, 1, RLENGTH) ~ /[^ \t]/)
                flush()
            rest = substr(rest, RLENGTH + 1)
        }
    }
    FNR == 1 {
        flush()
        name = FILENAME
        in_comment = 0
    }
    {
        rest = $0
        sub(/^[ \t]*#[ \t]*include.*/, "", rest)
        while (rest != "")
            take()
    }
    END { flush() }
    ' "$@"
}

# hits TABLE: prints what of standard input, lines of FILE:LINE: TEXT, its patterns find.
hits() {
    "$1" | column 1 >"$tmp/patterns"
    grep -wEf "$tmp/patterns" | grep -vEf "$tmp/allowances"
}

# clean WHAT TABLE: claim that there are none.
clean() {
    hits "$2" >"$tmp/hits"
    ok "$1" test ! -s "$tmp/hits" || advise "$2"
}

# Show each with what to write instead.
advise() {
    "$1" | column 2 | paste -d '\t' "$tmp/patterns" - | while IFS="$(printf '\t')" read -r pattern better; do
        grep -wE "$pattern" "$tmp/hits" | while IFS= read -r hit; do
            text=$(printf '%s\n' "$hit" | cut -d: -f3- | grep -owE ".{0,30}($pattern).{0,30}" | head -n 1)
            printf '# %s: ...%s... Better: %s\n' "$(printf '%s\n' "$hit" | cut -d: -f1,2)" "$text" "$better"
        done
    done
}

# half_sentences: the comments of standard input that begin as only a part of a sentence does.
half_sentences() {
    grep -E '^[^:]*:[0-9]*: (Of|Behind|Besides) [a-z]'
}

# code FOLDER: the C files below it.
code() {
    find "$@" -name '*.[ch]' -o -name '*.cc' | sort
}

# Of tests, but this one.
scripts() {
    find tests -name '*.t' -o -name '*.sh' -o -name '*.py' | grep -vx tests/suite/english.t | sort
}

allowed | awk -F ' +[|] ' '{ print "^" $1 }' >"$tmp/allowances"
cd "$top_srcdir" || exit 1

printf 'a:1: %s\n' "the run goes on" "a device to be had" "Who he is" "one process a node" >"$tmp/old"
is "what is not plain is found" "$(hits phrases <"$tmp/old" | wc -l)" 3
is "and what is stiff" "$(hits stiff <"$tmp/old" | wc -l)" 1
printf 'static int sweep;\nint x; /* goes\n * on */ char *y = "by "\n"itself /*";\n' >"$tmp/old.c"
is "C is taken apart" "$(c_texts comments "$tmp/old.c" | hits stiff | cut -d: -f2,3)" "2: goes on"
is "half a sentence is found" "$(printf 'a.c:1: Of two of one name.\na.c:2: Offers two.\n' | half_sentences)" "a.c:1: Of two of one name."
is "and its strings put together" "$(c_texts strings "$tmp/old.c" | cut -d: -f2,3)" "3: by itself /*"

texts README HACKING NEWS >"$tmp/guide"
texts doc/*.[0-9] doc/PROTOCOL >"$tmp/manual"
texts tests/*/README contrib/quickstart >"$tmp/others"
texts conf/hostfile conf/*.conf >"$tmp/examples"
for table in phrases stiff; do
    clean "README, HACKING and NEWS: $table" $table <"$tmp/guide"
    clean "the manual: $table" $table <"$tmp/manual"
    clean "READMEs of tests, quickstart: $table" $table <"$tmp/others"
    clean "example settings and hostfile: $table" $table <"$tmp/examples"
done
for room in $(find launcher agent common trainer k8s -type d -not -name '.*' | sort); do
    files=$(find "$room" -maxdepth 1 -name '*.[ch]' -o -maxdepth 1 -name '*.cc')
    [ -n "$files" ] || continue
    # shellcheck disable=SC2086
    c_texts comments $files >"$tmp/comments"
    clean "comments of $room" phrases <"$tmp/comments"
    is "... are whole sentences" "$(half_sentences <"$tmp/comments")" ""
    # shellcheck disable=SC2086
    c_texts strings $files >"$tmp/strings"
    clean "messages of $room" phrases <"$tmp/strings"
    clean "messages of $room, too" stiff <"$tmp/strings"
done

# shellcheck disable=SC2046
grep -nH '' $(code launcher agent common trainer k8s tests) $(scripts) README HACKING NEWS doc/*.[0-9] doc/PROTOCOL \
    tests/*/README conf/* >"$tmp/all"
clean "no old word" old_words <"$tmp/all"
finish
