# metrics.sh - figures of a run, for the scripts beside it
# SPDX-License-Identifier: Apache-2.0

need_promtool() {
    command -v promtool >/dev/null || { echo "promtool is missing (Debian: it is in prometheus)"; return 1; }
}

# has_promtool WHAT: else that claim is skipped, or fails if MUSTER_TEST_REQUIRE asks for it.
has_promtool() {
    why=$(need_promtool) && return 0
    case " ${MUSTER_TEST_REQUIRE:-} " in
    *" promtool "*) ok "promtool is there, as MUSTER_TEST_REQUIRE asks" false ;;
    *) skip "$1" "$why" ;;
    esac
    return 1
}

# figure NAME[{LABELS}] FILE: its value there; the label run_id is left out.
figure() {
    sed -n "s/run_id=\"[^\"]*\",\{0,1\}//; s/{}//; s/^$1 //p" "$2"
}

# is_figure NAME[{LABELS}] VALUE FILE
is_figure() {
    [ "$(figure "$1" "$3" 2>/dev/null)" = "$2" ]
}

# address: of the run whose stderr is in err.
address() {
    sed -n 's|^muster: metrics are at \(http://.*/metrics\), a page of the run at .*|\1|p' err
}

# has_address: the run says where it listens.
has_address() {
    [ -n "$(address)" ]
}

# scraped NAME[{LABELS}] VALUE: what the server says now is in the file scraped, and has this.
scraped() {
    curl -sf -m 20 -o scraped "$(address)" && is_figure "$1" "$2" scraped
}

# accepts FILE: promtool has no complaint.
accepts() {
    promtool check metrics <"$1" >lint 2>&1 || { sed 's/^/# /' lint; return 1; }
    [ ! -s lint ] || { sed 's/^/# /' lint; return 1; }
}
