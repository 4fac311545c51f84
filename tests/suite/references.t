#!/bin/sh
# The manual pages and sections that texts refer to exist.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# flat FILE...: FILE: PARAGRAPH, without the markup of manual pages.
flat() {
    awk '
    function flush() {
        gsub(/[ \t]+/, " ", text)
        gsub(/ \(/, "(", text)
        if (text != "")
            print name ": " text
        text = ""
    }
    FNR == 1 { flush(); name = FILENAME; sub(/.*\//, "", name) }
    /^[ \t]*$/ || /^\.(SH|SS|TP|TQ|PP|IP)/ { flush(); next }
    /^\.\\"/ { next }
    { sub(/^\.[A-Z]+ /, ""); gsub(/\\f[A-Z]/, ""); gsub(/\\-/, "-"); text = text " " $0 }
    END { flush() }' "$@"
}

# no_pages: of the pages that standard input refers to, those that do not exist.
no_pages() {
    grep -oE '\b(muster[a-z.-]*|hostfile)\([1-9]\)' | sort -u | while IFS='()' read -r name section; do
        [ -e "doc/$name.$section" ] || echo "$name($section)"
    done
}

# no_sections: of the sections that flat texts refer to, '"TITLE" in PAGE(N)', or above or below in
# their own page, those that do not exist: FILE: TITLE
no_sections() {
    grep -oE '^[^:]*:|"[^"]+"( (above|below)| in (muster[a-z.-]*|hostfile)\([1-9]\))' | while IFS= read -r found; do
        case $found in
        '"'*) ;;
        *) file=${found%:} && continue ;;
        esac
        title=$(echo "$found" | cut -d '"' -f 2)
        case $found in
        *\)) page=$(echo "$found" | sed 's/.* in \(.*\)(\([1-9]\))$/\1.\2/') ;;
        *) page=$file ;;
        esac
        grep -qxE "\.S[HS] \"?$title\"?" "doc/$page" || echo "$file: $title"
    done
}

cd "$top_srcdir" || exit 1
pages=$(find doc -name '*.[0-9]' ! -exec grep -q '^\.so ' {} \; -print | sort)
aliases=$(find doc -name '*.[0-9]' -exec grep -q '^\.so ' {} \; -print | sort)

# shellcheck disable=SC2086
flat $pages README NEWS HACKING >"$tmp/flat"
ok "texts refer to pages" test "$(grep -oE '\([1-9]\)' "$tmp/flat" | wc -l)" -gt 100
is "which exist" "$(no_pages <"$tmp/flat")" ""
ok "and to sections" test "$(grep -cE '"[^"]+" (above|below|in muster)' "$tmp/flat")" -gt 1
is "which exist, too" "$(no_sections <"$tmp/flat")" ""
is "a missing page is found" "$(echo "see muster-none(7), muster(1)" | no_pages)" "muster-none(7)"
is "and a missing section" "$(echo 'x.1: see "No such title" in muster(1)' | no_sections)" "x.1: No such title"

# shellcheck disable=SC2046
is "programs and examples name pages that exist" "$(cat $(find launcher agent common client trainer k8s \
    -name '*.[ch]') $(find contrib conf -type f) | no_pages)" ""
is "the aliases lead to pages" "$(for page in $aliases; do
    [ -f "doc/$(sed -n '1s|^\.so man[0-9]/||p' "$page")" ] || echo "$page"
done)" ""
is "muster(1) lists all others at its end" "$(for page in $pages; do
    page=${page##*/}
    [ "$page" = muster.1 ] || sed -n '/^\.SH SEE ALSO/,$p' doc/muster.1 | sed 's/\\-/-/g' |
        grep -q "^\.BR ${page%.*} (${page##*.})" || echo "$page"
done)" ""
is "all are installed" "$(for page in $pages $aliases; do
    grep -qw -- "${page##*/}" doc/Makefile.am || echo "$page"
done)" ""

# { "name other-name", ...: options of another launcher that muster knows.
python3 -c 'import re, sys
for names in re.findall(r"^    \{ ((?:\"[^\"]*\"\s*)+),", sys.stdin.read(), re.M):
    print(*re.sub("\"\\s*\"|\"", "", names).split(), sep="\n")' \
    <launcher/options/other_launchers.c | sort -u >"$tmp/others"
ok "muster knows other launchers' options" test "$(wc -l <"$tmp/others")" -gt 300
sed -e 's/\\-/-/g' doc/muster-migrate.7 | tr '_' '-' >"$tmp/migrate"
is "muster-migrate(7) says what becomes of each" "$(while read -r name; do
    grep -qE -e "(^|[ \"=,])--?$name([^a-z-]|$)" "$tmp/migrate" || echo "$name"
done <"$tmp/others")" ""
finish
