/* main.c - muster-train: programs for the ranks of a run
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "merge/merge.h"
#include "sample/sample.h"
#include "tokenize/tokenize.h"
#include "train/train.h"

static const struct {
    const char *name;
    int       (*run)(int argc, char **argv);
    const char *help;
} programs[] = {
    { "check", check_main, "test how fast the nodes are, and whether data arrives unchanged" },
    { "train", train_main, "train a model; the default if only options are given" },
    { "sample", sample_main, "generate text with a trained model" },
    { "merge", merge_main, "write a model and its adapter as one model" },
    { "tokenize", tokenize_main, "write text as tokens, for a training" },
};
#define PROGRAMS (sizeof programs / sizeof programs[0])

static void print_help(FILE *out);

int main(int argc, char **argv)
{
    size_t i;

    /* Gloo writes to connections whose peer may have exited. */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("muster-train " PACKAGE_VERSION);
        return 0;
    }
    if (argv[1][0] == '-')
        return train_main(argc, argv);
    for (i = 0; i < PROGRAMS; i++)
        if (strcmp(argv[1], programs[i].name) == 0)
            return programs[i].run(argc - 1, argv + 1);
    fprintf(stderr, "muster-train: unknown program '%s' (see muster-train --help)\n", argv[1]);
    return 2;
}

static void print_help(FILE *out)
{
    size_t i;

    fputs("Usage: muster … muster-train PROGRAM [OPTION…]\n\n", out);
    for (i = 0; i < PROGRAMS; i++)
        fprintf(out, "  %-10s %s\n", programs[i].name, programs[i].help);
    fputs("\nSee muster-train PROGRAM --help. Without muster or mpirun, muster-train runs as\n"
          "a world of one rank.\n", out);
}
