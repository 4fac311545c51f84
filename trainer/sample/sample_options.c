/* sample_options.c - see sample_options.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sample/sample_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define BYTES_MAX       65536
#define TEMPERATURE_MAX 100

static const struct option longs[] = {
    { "model", required_argument, NULL, 'm' },
    { "prompt", required_argument, NULL, 'p' },
    { "bytes", required_argument, NULL, 'b' },
    { "length", required_argument, NULL, 'l' },
    { "temperature", required_argument, NULL, 't' },
    { "seed", required_argument, NULL, 's' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int set(struct sample_options *options, int option, const char *value,
               struct error *why);
static int parse_temperature(const char *text, double *temperature, struct error *err);

int sample_options_parse(struct sample_options *options, int argc, char **argv,
                         struct error *err)
{
    struct error why;
    int          option, at = 0;

    *options = (struct sample_options){ .bytes = 200, .length = 64, .temperature = 0.8 };
    opterr = 0;
    optind = 0; /* glibc: reinitialize getopt */
    while ((option = getopt_long(argc, argv, ":", longs, &at)) != -1) {
        if (option == ':')
            return err_set(err, "option %.60s needs a value", argv[optind - 1]);
        if (option == '?')
            return err_set(err, "unknown option %.60s", argv[optind - 1]);
        if (option == 'h')
            return SAMPLE_OPTIONS_HELP;
        if (set(options, option, optarg, &why) < 0)
            return err_set(err, "--%s: %s", longs[at].name, why.text);
    }
    if (optind < argc)
        return err_set(err, "unexpected argument '%.60s'", argv[optind]);
    if (options->model == NULL)
        return err_set(err, "--model is missing");
    if (options->prompt == NULL)
        return err_set(err, "--prompt is missing");
    return SAMPLE_OPTIONS_RUN;
}

static int set(struct sample_options *options, int option, const char *value,
               struct error *why)
{
    switch (option) {
    case 'm': options->model = value; return 0;
    case 'p': options->prompt = value; return 0;
    case 'b': return parse_number(value, 1, BYTES_MAX, &options->bytes, why);
    case 'l': return parse_number(value, 1, 1 << 20, &options->length, why);
    case 't': return parse_temperature(value, &options->temperature, why);
    default:  return parse_number(value, 0, INT64_MAX, &options->seed, why);
    }
}

static int parse_temperature(const char *text, double *temperature, struct error *err)
{
    char *end;

    errno = 0;
    *temperature = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 ||
        !(*temperature >= 0 && *temperature <= TEMPERATURE_MAX))
        return err_set(err, "'%.60s' is not a number from 0 to %d", text, TEMPERATURE_MAX);
    return 0;
}

void sample_options_help(FILE *out)
{
    fputs(
        "Usage: muster-train sample --model DIR --prompt TEXT [OPTION…]\n\n"
        "Shows what a model has learnt from text. It continues the prompt, or BERT fills\n"
        "its gaps: each _ is one byte.\n\n"
        "  --model DIR             config.json and weights, as --export writes them\n"
        "  --prompt TEXT           the text to continue or fill\n"
        "  --bytes N               number of bytes to add [200]\n"
        "  --length N              tokens of context, as in the training [64]\n"
        "  --temperature X         0: always the most probable byte [0.8]\n"
        "  --seed N                random seed; each one gives another text [0]\n"
        "  --help                  print this help\n\n"
        "Exit status: 0 success, 1 failure, 2 usage error.\n",
        out);
}
