/* tokenize.c - see tokenize.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "tokenize/tokenize.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "data/file_list.h"
#include "data/record_file.h"
#include "number.h"
#include "text/crew.h"
#include "text/tokenizer.h"
#include "tokenize/token_writer.h"
#include "xalloc.h"

enum { TOKENIZE_OK, TOKENIZE_FAILED, TOKENIZE_USAGE, TOKENIZE_HELP = -2 };

struct tokenize {
    const char *tokenizer_path, *data, *output; /* data, output: NULL with show */
    const char *end; /* the token after each text; NULL: as in tokenizer_config.json */
    const char *chat_template; /* of records; NULL: the tokenizer's */
    int64_t     shard_tokens, bad_lines;
    bool        show, learns_all;

    struct tokenizer    *tokenizer;
    struct chat_template chat;
    struct record_file   records; /* its end_id also for texts */
    struct token_writer  writer;
    bool                 has_marks; /* the data has records */
    int64_t              documents;
};

static const struct option longs[] = {
    { "tokenizer", required_argument, NULL, 't' },
    { "data", required_argument, NULL, 'd' },
    { "output", required_argument, NULL, 'o' },
    { "end", required_argument, NULL, 'e' },
    { "chat-template", required_argument, NULL, 'c' },
    { "learn", required_argument, NULL, 'l' },
    { "bad-lines", required_argument, NULL, 'b' },
    { "shard-tokens", required_argument, NULL, 'n' },
    { "show", no_argument, NULL, 's' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int  parse(struct tokenize *tokenize, int argc, char **argv, struct error *err);
static int  set(struct tokenize *tokenize, int option, const char *value, struct error *err);
static void print_help(FILE *out);
static int  write_shards(struct tokenize *tokenize, struct error *err);
static int  check_kinds(struct tokenize *tokenize, const struct strlist *files,
                        struct error *err);
static int  find_names(struct tokenize *tokenize, struct error *err);
static int  add_all(struct tokenize *tokenize, const struct strlist *files, struct error *err);
static int  finish(struct tokenize *tokenize, struct error *err);
static int  take_record(void *arg, const int32_t *tokens, size_t count, struct error *err);
static int  add_file(struct tokenize *tokenize, const char *path, struct error *err);
static int  add_document(struct tokenize *tokenize, int fd, size_t size, struct error *err);
static int  take(void *arg, const struct tokens *tokens, struct error *err);
static int  show_lines(const struct tokenizer *tokenizer, FILE *in, FILE *out,
                       struct error *err);
static int  show_line(struct encoder *encoder, const char *line, size_t size, FILE *out,
                      struct error *err);

int tokenize_main(int argc, char **argv)
{
    struct tokenize tokenize = { .shard_tokens = 100 * 1000 * 1000 };
    struct error    err;
    int             rc = parse(&tokenize, argc, argv, &err);

    if (rc == TOKENIZE_HELP) {
        print_help(stdout);
        return TOKENIZE_OK;
    }
    if (rc < 0) {
        fprintf(stderr, "muster-train: %s (see muster-train tokenize --help)\n", err.text);
        return TOKENIZE_USAGE;
    }
    tokenize.tokenizer = tokenizer_open(tokenize.tokenizer_path, &err);
    rc = tokenize.tokenizer == NULL ? -1
         : tokenize.show            ? show_lines(tokenize.tokenizer, stdin, stdout, &err)
                                    : write_shards(&tokenize, &err);
    tokenizer_close(tokenize.tokenizer);
    if (rc == 0)
        return TOKENIZE_OK;
    fprintf(stderr, "muster-train: %s\n", err.text);
    return TOKENIZE_FAILED;
}

static int parse(struct tokenize *tokenize, int argc, char **argv, struct error *err)
{
    int option, at = 0;

    opterr = 0;
    optind = 0; /* glibc: reinitialize getopt */
    while ((option = getopt_long(argc, argv, ":", longs, &at)) != -1) {
        if (option == ':')
            return err_set(err, "option %.60s needs a value", argv[optind - 1]);
        if (option == '?')
            return err_set(err, "unknown option %.60s", argv[optind - 1]);
        if (option == 'h')
            return TOKENIZE_HELP;
        if (set(tokenize, option, optarg, err) < 0)
            return -1;
    }
    if (optind < argc)
        return err_set(err, "unexpected argument '%.60s'", argv[optind]);
    if (tokenize->tokenizer_path == NULL)
        return err_set(err, "--tokenizer is missing");
    if (tokenize->show)
        return tokenize->data == NULL && tokenize->output == NULL
                   ? 0 : err_set(err, "--show reads standard input: without --data and --output");
    if (tokenize->data == NULL || tokenize->output == NULL)
        return err_set(err, "--%s is missing", tokenize->data == NULL ? "data" : "output");
    return 0;
}

static int set(struct tokenize *tokenize, int option, const char *value, struct error *err)
{
    struct error why;

    switch (option) {
    case 't': tokenize->tokenizer_path = value; return 0;
    case 'd': tokenize->data = value; return 0;
    case 'o': tokenize->output = value; return 0;
    case 'e': tokenize->end = value; return 0;
    case 'c': tokenize->chat_template = value; return 0;
    case 's': tokenize->show = true; return 0;
    case 'l':
        tokenize->learns_all = strcmp(value, "all") == 0;
        return tokenize->learns_all || strcmp(value, "answers") == 0
                   ? 0 : err_set(err, "--learn %.60s: must be answers or all", value);
    case 'b':
        if (parse_number(value, 0, INT64_MAX, &tokenize->bad_lines, &why) == 0)
            return 0;
        return err_set(err, "--bad-lines: %s", why.text);
    default:
        if (parse_number(value, 1, (int64_t)TOKEN_FILE_MAX, &tokenize->shard_tokens, &why) == 0)
            return 0;
        return err_set(err, "--shard-tokens: %s", why.text);
    }
}

static void print_help(FILE *out)
{
    fputs("Usage: muster-train tokenize --tokenizer PATH --data PATH --output DIR [OPTION…]\n"
          "       muster-train tokenize --tokenizer PATH --show\n\n"
          "Writes text or records as token shards, which --data of a training reads; or shows\n"
          "the tokens of JSON strings.\n\n"
          "  --tokenizer PATH        tokenizer.json, or a directory that has one\n"
          "  --data PATH             UTF-8 text, each file a document; or records (.jsonl,\n"
          "                          .json), each a document; a file or a directory\n"
          "  --output DIR            the shards' directory, which must not be there yet\n"
          "  --end TOKEN             token after each text, or none [eos_token in\n"
          "                          tokenizer_config.json]\n"
          "  --chat-template NAME    how records become text: chatml, llama3 ... (the manual\n"
          "                          has all) or none [the tokenizer's]\n"
          "  --learn WHAT            of records: answers, or all [answers]\n"
          "  --bad-lines N           leave out up to N records that are broken [0]\n"
          "  --shard-tokens N        tokens in one shard [100000000]\n"
          "  --show                  for each line of standard input, a JSON string, write\n"
          "                          a JSON array of its tokens\n"
          "  --help                  print this help\n\n"
          "All cores work, or as many threads as OMP_NUM_THREADS says.\n\n"
          "Exit status: 0 success, 1 failure, 2 usage error.\n",
          out);
}

/* ---- shards ---- */

static int write_shards(struct tokenize *tokenize, struct error *err)
{
    struct token_writer *writer = &tokenize->writer;
    struct strlist       files;
    int                  rc = file_list_read(&files, tokenize->data, err);

    if (rc == 0)
        rc = check_kinds(tokenize, &files, err);
    if (rc == 0)
        rc = find_names(tokenize, err);
    if (rc == 0)
        rc = token_writer_open(writer, tokenize->output, tokenizer_words(tokenize->tokenizer),
                               (uint64_t)tokenize->shard_tokens, tokenize->has_marks, err);
    if (rc == 0)
        rc = add_all(tokenize, &files, err);
    if (rc == 0 && writer->tokens == 0)
        rc = err_set(err, "%s: has no text", tokenize->data);
    if (rc == 0)
        rc = finish(tokenize, err);
    token_writer_close(writer);
    chat_template_clear(&tokenize->chat);
    strlist_clear(&files);
    return rc;
}

/* Finds out whether the files are records; all must be, or none. */
static int check_kinds(struct tokenize *tokenize, const struct strlist *files,
                       struct error *err)
{
    size_t i;

    tokenize->has_marks = file_is_json(files->item[0]);
    for (i = 1; i < files->count; i++)
        if (file_is_json(files->item[i]) != tokenize->has_marks)
            return err_set(err, "%s: has records and texts: put them into directories of their own",
                           tokenize->data);
    return 0;
}

/* Finds the chat template, and the token after each text. */
static int find_names(struct tokenize *tokenize, struct error *err)
{
    struct record_file *records = &tokenize->records;

    records->template = &tokenize->chat;
    records->learns_all = tokenize->learns_all;
    records->bad_max = tokenize->bad_lines;
    if (chat_of_tokenizer(tokenize->tokenizer, tokenize->tokenizer_path,
                          tokenize->has_marks ? tokenize->chat_template : "none", &tokenize->chat,
                          &records->end_id, err) < 0)
        return -1;
    if (tokenize->end != NULL && strcmp(tokenize->end, "none") == 0)
        records->end_id = -1;
    else if (tokenize->end != NULL) {
        records->end_id = tokenizer_id(tokenize->tokenizer, tokenize->end);
        if (records->end_id < 0)
            return err_set(err, "%s: has no token '%.60s'", tokenize->tokenizer_path,
                           tokenize->end);
    } else if (!tokenize->has_marks && records->end_id < 0 &&
               !tokenizer_ends_texts(tokenize->tokenizer))
        return err_set(err, "%s: no tokenizer_config.json with eos_token is beside it: give --end "
                            "TOKEN, for the end of each text, or --end none",
                       tokenize->tokenizer_path);
    return 0;
}

static int add_all(struct tokenize *tokenize, const struct strlist *files, struct error *err)
{
    size_t i;
    int    rc = 0;

    tokenize->records.crew = crew_new(tokenize->tokenizer);
    for (i = 0; i < files->count && rc == 0; i++)
        rc = tokenize->has_marks
                 ? record_file_read(&tokenize->records, files->item[i], take_record, tokenize, err)
                 : add_file(tokenize, files->item[i], err);
    crew_free(tokenize->records.crew);
    return rc;
}

static int finish(struct tokenize *tokenize, struct error *err)
{
    struct token_writer *writer = &tokenize->writer;
    const int            files = writer->files;

    if (token_writer_finish(writer, err) < 0)
        return -1;
    printf("%" PRId64 " %s, %" PRIu64 " tokens of %d bytes in %d %s of %s\n",
           tokenize->documents, tokenize->documents == 1 ? "document" : "documents",
           writer->tokens, writer->file.width, files, files == 1 ? "shard" : "shards",
           tokenize->output);
    if (tokenize->has_marks)
        printf("chat template: %s\n", chat_template_name(&tokenize->chat));
    if (tokenize->records.bad > 0)
        printf("without %" PRId64 " broken lines\n", tokenize->records.bad);
    return 0;
}

static int take_record(void *arg, const int32_t *tokens, size_t count, struct error *err)
{
    struct tokenize *tokenize = arg;

    tokenize->documents++;
    return token_writer_add_document(&tokenize->writer, tokens, count, err);
}

static int add_file(struct tokenize *tokenize, const char *path, struct error *err)
{
    const int    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe */
    struct error why;
    struct stat  is;
    int          rc;

    if (fd < 0 || fstat(fd, &is) < 0)
        rc = err_set(&why, "%s", strerror(errno));
    else if (!S_ISREG(is.st_mode))
        rc = err_set(&why, "not a regular file");
    else
        rc = add_document(tokenize, fd, (size_t)is.st_size, &why);
    if (fd >= 0)
        close(fd);
    return rc < 0 ? err_set(err, "%s: %s", path, why.text) : 0;
}

/* The file is mapped, so that its size does not matter. */
static int add_document(struct tokenize *tokenize, int fd, size_t size, struct error *err)
{
    const struct tokens end = { .id = &tokenize->records.end_id,
                                .count = tokenize->records.end_id >= 0 };
    char               *text;
    int                 rc;

    if (size == 0)
        return 0;
    text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return err_set(err, "%s", strerror(errno));
    madvise(text, size, MADV_SEQUENTIAL);
    rc = crew_encode(tokenize->records.crew, text, size, ENCODE_TEMPLATE | ENCODE_SPECIALS, take,
                     &tokenize->writer, err);
    munmap(text, size);
    tokenize->documents++;
    return rc == 0 ? take(&tokenize->writer, &end, err) : rc;
}

static int take(void *arg, const struct tokens *tokens, struct error *err)
{
    return token_writer_add(arg, tokens->id, tokens->count, err);
}

/* ---- --show ---- */

static int show_lines(const struct tokenizer *tokenizer, FILE *in, FILE *out, struct error *err)
{
    struct encoder *encoder = encoder_new(tokenizer);
    struct error    why;
    char           *line = NULL;
    size_t          room = 0;
    ssize_t         size;
    int64_t         number = 0;
    int             rc = 0;

    while (rc == 0 && (size = getline(&line, &room, in)) > 0) {
        number++;
        if (show_line(encoder, line, (size_t)size, out, &why) < 0)
            rc = err_set(err, "line %" PRId64 ": %s", number, why.text);
    }
    if (rc == 0 && (ferror(in) || fflush(out) != 0))
        rc = err_set(err, "%s", strerror(errno));
    free(line);
    encoder_free(encoder);
    return rc;
}

static int show_line(struct encoder *encoder, const char *line, size_t size, FILE *out,
                     struct error *err)
{
    json_t       *json = json_loadb(line, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    struct tokens tokens = { 0 };
    size_t        i;
    int           rc;

    if (json_is_string(json))
        rc = encoder_add(encoder, json_string_value(json), json_string_length(json),
                         ENCODE_TEMPLATE | ENCODE_SPECIALS, &tokens, err);
    else
        rc = err_set(err, "is no JSON string");
    if (rc == 0) {
        fputc('[', out);
        for (i = 0; i < tokens.count; i++)
            fprintf(out, "%s%d", i > 0 ? ", " : "", (int)tokens.id[i]);
        fputs("]\n", out);
    }
    tokens_clear(&tokens);
    json_decref(json);
    return rc;
}
