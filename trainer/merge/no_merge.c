/* no_merge.c - see merge.h; for a build without the libraries that models need
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "merge/merge.h"

#include <stdio.h>

int merge_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("muster-train: built without oneDNN, PCRE2 or utf8proc, which models need\n", stderr);
    return 1;
}
