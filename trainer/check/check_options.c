/* check_options.c - see check_options.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/check_options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "number.h"

enum kind { KIND_BYTES, KIND_NUMBER, KIND_SECONDS, KIND_DTYPE, KIND_REDOP, KIND_BACKEND,
            KIND_TEXT, KIND_SWITCH, KIND_HELP };

static const struct option_row {
    const char *name;
    char        letter; /* 0: long form only */
    enum kind   kind;
    size_t      field;
    int64_t     min, max;
    const char *value; /* the default, as on the command line */
    const char *arg, *help;
    const char *quick, *full; /* the defaults with --quick and --full; NULL: value */
} rows[] = {
#define FIELD(NAME) offsetof(struct check_options, NAME)
    { "quick", 'q', KIND_SWITCH, FIELD(quick), 0, 0, NULL, NULL,
      "smaller messages, fewer calls", NULL, NULL },
    { "full", 'F', KIND_SWITCH, FIELD(full), 0, 0, NULL, NULL,
      "larger messages, more calls, longer text", NULL, NULL },
    { "min-bytes", 'b', KIND_BYTES, FIELD(bytes_min), 1, INT64_C(1) << 40, "8", "SIZE",
      "smallest message (K, M, G are binary)", NULL, NULL },
    { "max-bytes", 'e', KIND_BYTES, FIELD(bytes_max), 1, INT64_C(1) << 40, "4M", "SIZE",
      "largest message", "256K", "64M" },
    { "factor", 'f', KIND_NUMBER, FIELD(factor), 2, 1 << 20, "64", "N",
      "factor between two sizes", NULL, "4" },
    { "iterations", 'n', KIND_NUMBER, FIELD(iterations), 1, 1000000, "10", "N",
      "timed calls per size", "5", "20" },
    { "warmups", 'w', KIND_NUMBER, FIELD(warmups), 0, 1000000, "1", "N",
      "calls before the timed ones", NULL, NULL },
    { "checks", 'c', KIND_NUMBER, FIELD(checks), 0, 1000000, "1", "N",
      "calls in which every element is compared", NULL, NULL },
    { "dtype", 'd', KIND_DTYPE, FIELD(dtype), 0, 0, "float", "TYPE",
      "int8 uint8 int32 uint32 int64 uint64\n"
      "half float double bfloat16",
      NULL, NULL },
    { "op", 'o', KIND_REDOP, FIELD(redop), 0, 0, "sum", "OP", "sum prod max min", NULL, NULL },
    { "backend", 0, KIND_BACKEND, FIELD(backend), 0, 0, "auto", "NAME",
      "nccl, gloo or auto: nccl if every rank\n"
      "has its own GPU",
      NULL, NULL },
    { "python", 0, KIND_TEXT, FIELD(python), 0, 0, NULL, "PROGRAM",
      "for a node without NCCL: the Python whose\n"
      "packages have it (python3 on PATH)",
      NULL, NULL },
    { "timeout", 'T', KIND_SECONDS, FIELD(timeout_s), 1, 86400, "30", "TIME",
      "longest wait for the other ranks", NULL, NULL },
    { "json", 'J', KIND_TEXT, FIELD(json), 0, 0, NULL, "FILE",
      "also write all results to FILE (-: standard\n"
      "output, and the text to standard error)",
      NULL, NULL },
    { "html", 'H', KIND_TEXT, FIELD(html), 0, 0, NULL, "FILE",
      "also write all results as an HTML page", NULL, NULL },
    { "nccl-tests", 0, KIND_SWITCH, FIELD(nccl_tests), 0, 0, NULL, NULL,
      "only the collectives, in nccl-tests' columns", NULL, NULL },
    { "help", 'h', KIND_HELP, 0, 0, 0, NULL, NULL, "print this help", NULL, NULL },
#undef FIELD
};
#define ROWS (sizeof rows / sizeof rows[0])

static int set(struct check_options *options, const struct option_row *row,
               const char *value, struct error *err);
static int set_presets(struct check_options *options, const bool *given, struct error *err);
static int choose(struct check_options *options, int argc, char **argv, struct error *err);
static int bad_option(int got, char **argv, struct error *err);
static const struct option_row *row_of_letter(int letter);

int check_options_parse(struct check_options *options, int argc, char **argv,
                        struct error *err)
{
    struct option            longs[ROWS + 1] = { 0 };
    char                     letters[2 * ROWS + 2] = ":", *end = letters + 1;
    const struct option_row *row;
    bool                     given[ROWS] = { false };
    int                      got, at = 0;
    size_t                   i;

    *options = (struct check_options){ 0 };
    for (i = 0; i < ROWS; i++) {
        longs[i] = (struct option){ .name = rows[i].name, .has_arg = rows[i].arg != NULL };
        if (rows[i].letter != 0) {
            *end++ = rows[i].letter;
            if (rows[i].arg != NULL)
                *end++ = ':';
        }
        if (rows[i].value != NULL)
            set(options, &rows[i], rows[i].value, NULL);
    }
    *end = '\0';

    opterr = 0;
    optind = 0; /* glibc: reinitialize getopt */
    while ((got = getopt_long(argc, argv, letters, longs, &at)) != -1) {
        if (got == '?' || got == ':')
            return bad_option(got, argv, err);
        row = got == 0 ? &rows[at] : row_of_letter(got);
        if (row->kind == KIND_HELP)
            return CHECK_OPTIONS_HELP;
        given[row - rows] = true;
        if (set(options, row, optarg, err) < 0)
            return -1;
    }
    if (set_presets(options, given, err) < 0)
        return -1;
    if (options->bytes_min > options->bytes_max)
        return err_set(err, "--min-bytes (-b) is more than --max-bytes (-e)");
    return choose(options, argc - optind, argv + optind, err);
}

/* Sets the defaults of --quick and --full for options that were not given. */
static int set_presets(struct check_options *options, const bool *given, struct error *err)
{
    const char *value;
    size_t      i;

    if (options->quick && options->full)
        return err_set(err, "--quick and --full cannot be combined");
    for (i = 0; i < ROWS; i++) {
        value = options->quick ? rows[i].quick : options->full ? rows[i].full : NULL;
        if (value != NULL && !given[i] && set(options, &rows[i], value, err) < 0)
            return -1;
    }
    return 0;
}

/* getopt leaves the letter in optopt, or 0 for a long option. */
static int bad_option(int got, char **argv, struct error *err)
{
    const char  letter[] = { '-', (char)optopt, '\0' };
    const char *option = optopt != 0 ? letter : argv[optind - 1];

    if (got == ':')
        return err_set(err, "option %s needs a value", option);
    return err_set(err, "unknown option %.60s", option);
}

static const struct option_row *row_of_letter(int letter)
{
    size_t i = 0;

    while (rows[i].letter != letter)
        i++; /* getopt returns only known letters */
    return &rows[i];
}

static int set(struct check_options *options, const struct option_row *row,
               const char *value, struct error *err)
{
    void        *field = (char *)options + row->field;
    struct error why = { "" };
    int          found, rc = 0;

    switch (row->kind) {
    case KIND_BYTES:
        rc = parse_bytes(value, row->min, row->max, field, &why);
        break;
    case KIND_NUMBER:
        rc = parse_number(value, row->min, row->max, field, &why);
        break;
    case KIND_SECONDS:
        rc = parse_seconds(value, (double)row->min, (double)row->max, field, &why);
        break;
    case KIND_DTYPE:
    case KIND_REDOP:
        found = row->kind == KIND_DTYPE ? dtype_find(value) : redop_find(value);
        if (found < 0)
            rc = err_set(&why, "'%.40s' is not one of: %s", value, row->help);
        *(int64_t *)field = found;
        break;
    case KIND_BACKEND:
        if (strcmp(value, "auto") != 0 && strcmp(value, "nccl") != 0 &&
            strcmp(value, "gloo") != 0)
            rc = err_set(&why, "'%.40s' is not one of: auto nccl gloo", value);
        *(const char **)field = value;
        break;
    case KIND_TEXT:
        *(const char **)field = value;
        break;
    case KIND_SWITCH:
        *(bool *)field = true;
        break;
    case KIND_HELP:
        break;
    }
    return rc < 0 ? err_set(err, "--%s: %s", row->name, why.text) : 0;
}

/* Arguments after the options name collectives; without any, all are run. */
static int choose(struct check_options *options, int argc, char **argv, struct error *err)
{
    int i, word;

    for (i = 0; collectives[i].name != NULL; i++)
        options->run[i] = argc == 0;
    options->has_chosen = argc > 0;
    for (word = 0; word < argc; word++) {
        for (i = 0; collectives[i].name != NULL; i++)
            if (strcmp(argv[word], collectives[i].name) == 0)
                break;
        if (collectives[i].name == NULL)
            return err_set(err, "unknown collective '%.40s' (see --help)", argv[word]);
        options->run[i] = true;
    }
    return CHECK_OPTIONS_RUN;
}

void check_options_help(FILE *out)
{
    const char *line, *end;
    char        head[64], letter[8];
    size_t      i;

    fputs("Usage: muster … muster-train check [OPTION…] [COLLECTIVE…]\n\n"
          "Checks in order whether the nodes have the same setup, reach each other and send\n"
          "data unchanged, then how fast each pair of nodes and all ranks together are. The\n"
          "first failure is named. With COLLECTIVE only those run:\n   ",
          out);
    for (i = 0; collectives[i].name != NULL; i++)
        fprintf(out, " %s", collectives[i].name);
    fputs("\n\n", out);
    for (i = 0; i < ROWS; i++) {
        snprintf(letter, sizeof letter, rows[i].letter ? "-%c, " : "    ", rows[i].letter);
        snprintf(head, sizeof head, "  %s--%s%s%s", letter, rows[i].name,
                 rows[i].arg ? " " : "", rows[i].arg ? rows[i].arg : "");
        for (line = rows[i].help; line != NULL; line = end ? end + 1 : NULL) {
            end = strchr(line, '\n');
            fprintf(out, "%-28s%.*s", line == rows[i].help ? head : "",
                    (int)(end ? end - line : (ptrdiff_t)strlen(line)), line);
            if (end == NULL && rows[i].value != NULL)
                fprintf(out, " [%s]", rows[i].value);
            fputc('\n', out);
        }
    }
    fputs("\nExit status: 0 passed, 1 wrong values, 2 usage error, or results that could not\n"
          "be written, 3 the ranks could not connect or lost each other, 4 a layer took too\n"
          "long, 5 ranks are missing, or have different versions, 6 nodes do not reach each\n"
          "other, 7 a node or a link is slow.\n", out);
}
