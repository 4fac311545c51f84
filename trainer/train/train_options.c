/* train_options.c - see train_options.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/train_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fnv.h"
#include "number.h"

enum kind {
    KIND_TEXT, KIND_NUMBER, KIND_SECONDS, KIND_RATE, KIND_MORE, KIND_SWITCH, KIND_IGNORED,
    KIND_HELP
};

static const struct option_row {
    const char *name;
    enum kind   kind;
    size_t      field;
    int64_t     min, max;
    const char *value; /* the default, as on the command line */
    const char *arg, *help;
} rows[] = {
#define FIELD(NAME) offsetof(struct train_options, NAME)
    { "deepspeed_config", KIND_TEXT, FIELD(config), 0, 0, NULL, "FILE",
      "batch sizes, optimizer, precision, ZeRO stage" },
    { "model", KIND_TEXT, FIELD(model), 0, 0, NULL, "NAME",
      "gpt2, bert, qwen2.5-0.5b ... (the manual has all), or\n"
      "a directory with config.json and maybe weights" },
    { "data", KIND_TEXT, FIELD(data), 0, 0, NULL, "PATH",
      "text, records (.jsonl, .json), or token shards\n"
      "(.bin, see tokenize --help); a file or a directory" },
    { "tokenizer", KIND_TEXT, FIELD(tokenizer), 0, 0, NULL, "PATH",
      "tokenizer.json for text, or bytes: each is a token\n"
      "[the model's; without one, bytes]" },
    { "chat-template", KIND_TEXT, FIELD(chat_template), 0, 0, NULL, "NAME",
      "how records become text: chatml, llama3 ...\n"
      "(the manual has all) or none [the tokenizer's]" },
    { "learn", KIND_TEXT, FIELD(learn), 0, 0, "answers", "WHAT",
      "of records: answers, or all" },
    { "bad-lines", KIND_NUMBER, FIELD(bad_lines), 0, INT64_MAX, "0", "N",
      "leave out up to N records that are broken" },
    { "data-shards", KIND_SWITCH, FIELD(data_shards), 0, 0, NULL, NULL,
      "take the samples that muster assigns" },
    { "eval-data", KIND_TEXT, FIELD(eval_data), 0, 0, NULL, "PATH",
      "samples to evaluate the model with, as --data;\n"
      "at each save by --save_interval, and at the end" },
    { "eval-interval", KIND_NUMBER, FIELD(eval_interval), 0, INT64_C(1) << 40, "0", "N",
      "evaluate every N steps, too" },
    { "checkpoint_dir", KIND_TEXT, FIELD(checkpoint_dir), 0, 0, NULL, "DIR",
      "save to DIR, and continue from its latest checkpoint" },
    { "async-checkpoint", KIND_SWITCH, FIELD(async_checkpoint), 0, 0, NULL, NULL,
      "save in the background, from a copy" },
    { "export", KIND_TEXT, FIELD(export), 0, 0, NULL, "DIR",
      "at the end, write the weights or the adapter to DIR" },
    { "tag", KIND_TEXT, FIELD(tag), 0, 0, NULL, "NAME",
      "continue from this checkpoint;\n"
      "a restart by muster uses the latest" },
    { "steps", KIND_NUMBER, FIELD(steps), 1, INT64_C(1) << 40, NULL, "N",
      "the last step [once through the data]" },
    { "epochs", KIND_NUMBER, FIELD(epochs), 1, 1 << 20, NULL, "N",
      "go through the data N times, instead of --steps" },
    { "lr", KIND_MORE, FIELD(given.lr), 0, 0, NULL, "RATE",
      "learning rate; this and the next three replace\nwhat the configuration says" },
    { "micro-batch", KIND_NUMBER, FIELD(given.micro_batch), 1, 1 << 20, NULL, "N",
      "samples of a rank in one pass" },
    { "accumulation", KIND_NUMBER, FIELD(given.accumulation), 1, 1 << 20, NULL, "N",
      "passes in a step" },
    { "warmup", KIND_NUMBER, FIELD(given.warmup), 1, INT64_C(1) << 40, NULL, "N",
      "steps in which the rate rises" },
    { "length", KIND_NUMBER, FIELD(length), 1, 1 << 20, "64", "N", "tokens per sample" },
    { "lora", KIND_TEXT, FIELD(tuning.lora), 0, 0, NULL, "SPEC",
      "train adapters only, as r=16,targets=q_proj,v_proj; or\n"
      "continue the adapter in a directory, as PEFT has it" },
    { "freeze", KIND_TEXT, FIELD(tuning.freeze), 0, 0, NULL, "REGEX",
      "do not train parameters whose names match" },
    { "quantize", KIND_TEXT, FIELD(tuning.quantize), 0, 0, NULL, "TYPE",
      "keep frozen weights of blocks in int8 or nf4" },
    { "no-decay", KIND_TEXT, FIELD(tuning.no_decay), 0, 0, "default", "WHICH",
      "weight decay spares: default (biases, norms), none, or\n"
      "names that match a regular expression" },
    { "lr-scale", KIND_TEXT, FIELD(lr_scale), 0, 0, "none", "BY",
      "ranks: multiply the learning rate by them,\nas scripts for Horovod do" },
    { "save_interval", KIND_NUMBER, FIELD(save_interval), 0, INT64_C(1) << 40, "0", "N",
      "save every N steps, and at the end" },
    { "keep", KIND_NUMBER, FIELD(keep), 0, INT64_C(1) << 40, "0", "N",
      "keep the newest N checkpoints, delete the others;\n0: keep all" },
    { "seed", KIND_NUMBER, FIELD(seed), 0, INT64_MAX, "1234", "N",
      "for the initial weights and the data's order" },
    { "vocabulary", KIND_NUMBER, FIELD(vocabulary), 1, 1 << 24, NULL, "N",
      "the model's shape: number of different tokens" },
    { "positions", KIND_NUMBER, FIELD(positions), 1, 1 << 20, NULL, "N", "the longest sample" },
    { "width", KIND_NUMBER, FIELD(width), 1, 1 << 20, NULL, "N", "numbers per token" },
    { "heads", KIND_NUMBER, FIELD(heads), 1, 1 << 20, NULL, "N", "attention heads" },
    { "blocks", KIND_NUMBER, FIELD(blocks), 1, 1 << 20, NULL, "N",
      "layers between the first and the last" },
    { "dropout", KIND_RATE, FIELD(dropout), 0, 0, NULL, "RATE",
      "fraction of activations to drop; 0: none\n[as in config.json, else none]" },
    { "activation_checkpointing", KIND_SWITCH, FIELD(activation_checkpointing), 0, 0, NULL,
      NULL, "keep less for the backward pass, recompute the rest" },
    { "no-memory-check", KIND_SWITCH, FIELD(no_memory_check), 0, 0, NULL, NULL,
      "start although there seems too little memory" },
    { "device", KIND_TEXT, FIELD(device), 0, 0, "auto", "NAME",
      "cpu, cuda or auto: cuda if every rank has a GPU" },
    { "timeout", KIND_SECONDS, FIELD(timeout_s), 1, 86400, "300", "TIME",
      "longest wait for the other ranks" },
    { "print-config", KIND_SWITCH, FIELD(print_config), 0, 0, NULL, NULL,
      "print the resulting configuration and exit" },
    { "deepspeed", KIND_IGNORED, 0, 0, 0, NULL, NULL, NULL },
    { "local_rank", KIND_IGNORED, 0, 0, 0, NULL, "N", NULL },
    { "help", KIND_HELP, 0, 0, 0, NULL, NULL, "print this help" },
#undef FIELD
};
#define HELP_COLUMN 26
#define ROWS (sizeof rows / sizeof rows[0])

static int set(struct train_options *options, const struct option_row *row, const char *value,
               struct error *err);
static int parse_rate(const char *text, double *rate, struct error *err);
static int parse_more(const char *text, double *number, struct error *err);
static int judge(const struct train_options *options, struct error *err);

int train_options_parse(struct train_options *options, int argc, char **argv,
                        struct error *err)
{
    struct option longs[ROWS + 1] = { 0 };
    int           got, at = 0;
    size_t        i;

    *options = (struct train_options){ .dropout = -1 };
    for (i = 0; i < ROWS; i++) {
        longs[i] = (struct option){ .name = rows[i].name, .has_arg = rows[i].arg != NULL };
        if (rows[i].value != NULL)
            set(options, &rows[i], rows[i].value, NULL);
    }
    opterr = 0;
    optind = 0; /* glibc: reinitialize getopt */
    while ((got = getopt_long(argc, argv, ":", longs, &at)) != -1) {
        if (got == ':')
            return err_set(err, "option %.60s needs a value", argv[optind - 1]);
        if (got == '?')
            return err_set(err, "unknown option %.60s", argv[optind - 1]);
        if (rows[at].kind == KIND_HELP)
            return TRAIN_OPTIONS_HELP;
        if (set(options, &rows[at], optarg, err) < 0)
            return -1;
    }
    if (optind < argc)
        return err_set(err, "unexpected argument '%.60s'", argv[optind]);
    return judge(options, err);
}

static int set(struct train_options *options, const struct option_row *row, const char *value,
               struct error *err)
{
    void        *field = (char *)options + row->field;
    struct error why;
    int          rc = 0;

    switch (row->kind) {
    case KIND_TEXT:    *(const char **)field = value; break;
    case KIND_NUMBER:  rc = parse_number(value, row->min, row->max, field, &why); break;
    case KIND_SECONDS:
        rc = parse_seconds(value, (double)row->min, (double)row->max, field, &why);
        break;
    case KIND_RATE:    rc = parse_rate(value, field, &why); break;
    case KIND_MORE:    rc = parse_more(value, field, &why); break;
    case KIND_SWITCH:  *(bool *)field = true; break;
    case KIND_IGNORED:
    case KIND_HELP:    break;
    }
    return rc < 0 ? err_set(err, "--%s: %s", row->name, why.text) : 0;
}

static int parse_rate(const char *text, double *rate, struct error *err)
{
    char *end;

    *rate = strtod(text, &end);
    if (end == text || *end != '\0' || !(*rate >= 0 && *rate < 1))
        return err_set(err, "'%.60s' is not a number of at least 0 and less than 1", text);
    return 0;
}

static int parse_more(const char *text, double *number, struct error *err)
{
    char *end;

    *number = strtod(text, &end);
    if (end == text || *end != '\0' || !(*number > 0 && *number < 1e9))
        return err_set(err, "'%.60s' is not a number greater than 0", text);
    return 0;
}

static int judge(const struct train_options *options, struct error *err)
{
    if (options->config == NULL)
        return err_set(err, "--deepspeed_config is missing");
    if (strcmp(options->lr_scale, "none") != 0 && strcmp(options->lr_scale, "ranks") != 0)
        return err_set(err, "--lr-scale %.60s: must be none or ranks", options->lr_scale);
    if (options->print_config)
        return TRAIN_OPTIONS_RUN;
    if (strcmp(options->learn, "answers") != 0 && strcmp(options->learn, "all") != 0)
        return err_set(err, "--learn %.60s: must be answers or all", options->learn);
    if (strcmp(options->device, "auto") != 0 && strcmp(options->device, "cpu") != 0 &&
        strcmp(options->device, "cuda") != 0)
        return err_set(err, "--device %.60s: must be auto, cpu or cuda", options->device);
    if (options->model == NULL)
        return err_set(err, "--model is missing");
    if (options->data == NULL)
        return err_set(err, "--data is missing");
    if (options->tag != NULL && options->checkpoint_dir == NULL)
        return err_set(err, "--tag needs --checkpoint_dir");
    if (options->steps > 0 && options->epochs > 0)
        return err_set(err, "--epochs and --steps exclude each other");
    if (options->eval_interval > 0 && options->eval_data == NULL)
        return err_set(err, "--eval-interval needs --eval-data");
    if (options->keep > 0 && options->checkpoint_dir == NULL)
        return err_set(err, "--keep needs --checkpoint_dir");
    if (options->tuning.lora != NULL && options->tuning.freeze != NULL)
        return err_set(err, "--freeze: with --lora, all but the adapters is frozen already; "
                            "modules_to_save= names what else is trained");
    return TRAIN_OPTIONS_RUN;
}

uint64_t train_options_hash(const struct train_options *options)
{
    char text[256];

    snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                                " %" PRId64 " %d %d %d %d %s",
             options->length, options->steps, options->epochs, options->save_interval,
             options->eval_interval, options->seed, options->data_shards,
             options->checkpoint_dir != NULL, options->export != NULL, options->eval_data != NULL,
             options->lr_scale);
    return fnv_add(FNV_START, text, strlen(text));
}

void train_options_help(FILE *out)
{
    const char *line, *end;
    char        head[64];
    size_t      i;

    fputs("Usage: muster … muster-train --deepspeed_config FILE --model NAME --data PATH\n"
          "                             [OPTION…]\n\n"
          "Trains a model. On SIGUSR1 or a notice from muster it saves at the next step; on\n"
          "SIGTERM it saves and exits.\n\n",
          out);
    for (i = 0; i < ROWS; i++) {
        if (rows[i].kind == KIND_IGNORED)
            continue;
        snprintf(head, sizeof head, "  --%s%s%s", rows[i].name, rows[i].arg ? " " : "",
                 rows[i].arg ? rows[i].arg : "");
        if (strlen(head) >= HELP_COLUMN) {
            fprintf(out, "%s\n", head);
            head[0] = '\0';
        }
        for (line = rows[i].help; line != NULL; line = end ? end + 1 : NULL) {
            end = strchr(line, '\n');
            fprintf(out, "%-*s%.*s", HELP_COLUMN, line == rows[i].help ? head : "",
                    (int)(end ? end - line : (ptrdiff_t)strlen(line)), line);
            if (end == NULL && rows[i].value != NULL)
                fprintf(out, " [%s]", rows[i].value);
            fputc('\n', out);
        }
    }
    fputs("\nExit status: 0 finished, 1 failed, 2 usage error, 143 stopped by SIGTERM after\n"
          "saving.\n",
          out);
}
