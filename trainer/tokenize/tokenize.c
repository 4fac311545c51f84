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
#include "number.h"
#include "text/crew.h"
#include "text/token_names.h"
#include "text/tokenizer.h"
#include "tokenize/token_writer.h"
#include "xalloc.h"

enum { TOKENIZE_OK, TOKENIZE_FAILED, TOKENIZE_USAGE, TOKENIZE_HELP = -2 };

struct tokenize {
    const char *tokenizer_path, *data, *output; /* data, output: NULL with show */
    const char *end; /* the token after each document; NULL: as in tokenizer_config.json */
    int64_t     shard_tokens;
    bool        show;

    struct tokenizer   *tokenizer;
    struct crew        *crew;
    struct token_writer writer;
    int32_t             end_id; /* -1: none */
    int64_t             documents;
};

static const struct option longs[] = {
    { "tokenizer", required_argument, NULL, 't' },
    { "data", required_argument, NULL, 'd' },
    { "output", required_argument, NULL, 'o' },
    { "end", required_argument, NULL, 'e' },
    { "shard-tokens", required_argument, NULL, 'n' },
    { "show", no_argument, NULL, 's' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int  parse(struct tokenize *tokenize, int argc, char **argv, struct error *err);
static int  set(struct tokenize *tokenize, int option, const char *value, struct error *err);
static void print_help(FILE *out);
static int  write_shards(struct tokenize *tokenize, struct error *err);
static int  find_end(struct tokenize *tokenize, struct error *err);
static int  add_all(struct tokenize *tokenize, struct error *err);
static int  add_file(struct tokenize *tokenize, const char *path, struct error *err);
static int  add_document(struct tokenize *tokenize, int fd, size_t size, struct error *err);
static int  take(void *arg, const struct tokens *tokens, struct error *err);
static int  show_lines(const struct tokenizer *tokenizer, FILE *in, FILE *out,
                       struct error *err);
static int  show_line(struct encoder *encoder, const char *line, size_t size, FILE *out,
                      struct error *err);

int tokenize_main(int argc, char **argv)
{
    struct tokenize tokenize = { .shard_tokens = 100 * 1000 * 1000, .end_id = -1 };
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
    case 's': tokenize->show = true; return 0;
    default:
        if (parse_number(value, 1, (int64_t)TOKEN_FILE_MAX, &tokenize->shard_tokens, &why) < 0)
            return err_set(err, "--shard-tokens: %s", why.text);
        return 0;
    }
}

static void print_help(FILE *out)
{
    fputs("Usage: muster-train tokenize --tokenizer PATH --data PATH --output DIR [OPTION…]\n"
          "       muster-train tokenize --tokenizer PATH --show\n\n"
          "Writes text as token shards, which --data of a training reads; or shows the tokens\n"
          "of JSON strings.\n\n"
          "  --tokenizer PATH        tokenizer.json, or a directory that has one\n"
          "  --data PATH             UTF-8 text: a file or a directory; each file is a\n"
          "                          document\n"
          "  --output DIR            the shards' directory, which must not be there yet\n"
          "  --end TOKEN             token after each document, or none [eos_token in\n"
          "                          tokenizer_config.json]\n"
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
    int                  rc;

    if (find_end(tokenize, err) < 0)
        return -1;
    rc = token_writer_open(writer, tokenize->output, tokenizer_words(tokenize->tokenizer),
                           (uint64_t)tokenize->shard_tokens, err);
    if (rc == 0) {
        tokenize->crew = crew_new(tokenize->tokenizer);
        rc = add_all(tokenize, err);
        crew_free(tokenize->crew);
    }
    if (rc == 0 && writer->tokens == 0)
        rc = err_set(err, "%s: has no text", tokenize->data);
    if (rc == 0) {
        printf("%" PRId64 " %s, %" PRIu64 " tokens of %d bytes in %d %s of %s\n",
               tokenize->documents, tokenize->documents == 1 ? "document" : "documents",
               writer->tokens, writer->file.width, writer->files,
               writer->files == 1 ? "shard" : "shards", tokenize->output);
        rc = token_writer_finish(writer, err);
    }
    token_writer_close(writer);
    return rc;
}

/* Finds the token after each document. */
static int find_end(struct tokenize *tokenize, struct error *err)
{
    char *token = NULL;
    int   rc = 0;

    if (tokenize->end != NULL && strcmp(tokenize->end, "none") == 0)
        return 0;
    if (tokenize->end != NULL)
        token = xstrdup(tokenize->end);
    else if (tokenizer_ends_texts(tokenize->tokenizer))
        return 0;
    else if (token_names_find(tokenize->tokenizer_path, "eos_token", &token, err) < 0)
        return -1;
    if (token == NULL)
        rc = err_set(err, "%s: no tokenizer_config.json with eos_token is beside it: give --end "
                          "TOKEN, for the end of each document, or --end none",
                     tokenize->tokenizer_path);
    else if ((tokenize->end_id = tokenizer_id(tokenize->tokenizer, token)) < 0)
        rc = err_set(err, "%s: has no token '%.60s'", tokenize->tokenizer_path, token);
    free(token);
    return rc;
}

static int add_all(struct tokenize *tokenize, struct error *err)
{
    struct strlist files;
    size_t         i;
    int            rc = file_list_read(&files, tokenize->data, err);

    for (i = 0; i < files.count && rc == 0; i++)
        rc = add_file(tokenize, files.item[i], err);
    strlist_clear(&files);
    return rc;
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
    else if (file_is_json(path))
        rc = err_set(&why, "records in JSON are not supported yet: write their texts to files "
                           "whose names do not end so");
    else
        rc = add_document(tokenize, fd, (size_t)is.st_size, &why);
    if (fd >= 0)
        close(fd);
    return rc < 0 ? err_set(err, "%s: %s", path, why.text) : 0;
}

/* The file is mapped, so that its size does not matter. */
static int add_document(struct tokenize *tokenize, int fd, size_t size, struct error *err)
{
    const struct tokens end = { .id = &tokenize->end_id, .count = tokenize->end_id >= 0 };
    char               *text;
    int                 rc;

    if (size == 0)
        return 0;
    text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return err_set(err, "%s", strerror(errno));
    madvise(text, size, MADV_SEQUENTIAL);
    rc = crew_encode(tokenize->crew, text, size, ENCODE_TEMPLATE | ENCODE_SPECIALS, take,
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
