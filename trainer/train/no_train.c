/* no_train.c - see train.h; for a build without the libraries that models need
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/train.h"

#include <stdio.h>

int train_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("muster-train: built without oneDNN, PCRE2 or utf8proc, which models need\n", stderr);
    return TRAIN_FAILED;
}
