#!/bin/sh
# The image for Kubernetes is built from the packages that contrib/quickstart builds with, and each
# library of them is in the image, too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# of_quickstart FILE: a line for each, but for the nodes' sshd.
of_quickstart() {
    sed -n '/^build_packages="/,/"$/p' "$1" | sed 's/.*="//; s/"$//' | tr -s ' ' '\n' |
        grep -vxE 'openssh-(server|client)|' | sort
}

# of_stage NAMES FILE: what the stages of that name in a Dockerfile install.
of_stage() {
    sed -e :a -e '/\\$/N; s/\\\n//; ta' "$2" |
        awk -v names="$1" '$1 == "FROM" { stage = $NF } $1 == "RUN" && stage ~ "^(" names ")$"' |
        sed -n 's/.*apt-get install//p' | sed 's/&&.*//' | tr -s ' ' '\n' | grep -vE '^-|^$' | sort
}

# without_library FILE: the development packages of which no library is in the image.
without_library() {
    of_stage 'job|controller' "$1" >"$tmp/installed"
    of_stage build "$1" | sed -n 's/-dev$//p' | sed 's/-openssl$//' | while read -r library; do
        grep -q "^$library" "$tmp/installed" || echo "$library"
    done
}

docker=$top_srcdir/contrib/kubernetes/Dockerfile
of_quickstart "$top_srcdir/contrib/quickstart" >quickstart
of_stage build "$docker" >image
ok "quickstart has a list" grep -qx libssh-dev quickstart
is "the image is built with it" "$(diff quickstart image)" ""
is "and has each library" "$(without_library "$docker")" ""

sed 's/ libdnnl2//; s/ libgloo-dev//' "$docker" >lacking
is "what the build lacks is seen" "$(of_stage build lacking | diff quickstart - | grep '^[<>]')" "< libgloo-dev"
is "and what the image lacks" "$(without_library lacking)" libdnnl
finish
