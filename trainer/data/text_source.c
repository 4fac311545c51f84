/* text_source.c - see text_source.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/text_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/file_list.h"
#include "data/record_file.h"
#include "file.h"
#include "text/crew.h"
#include "xalloc.h"

#define BYTES_MAX 512 /* a model with more tokens has not learnt from bytes */

static int choose(struct text_source *source, struct error *err);
static int open_tokenizer(struct text_source *source, struct error *err);
static int open_chat(struct text_source *source, struct error *err);
static int encode_text(struct text_source *source, int fd, size_t size, struct tokens *tokens,
                       struct error *err);
static int take(void *arg, const struct tokens *part, struct error *err);
static int take_record(void *arg, const int32_t *ids, size_t count, struct error *err);

int text_source_encode(void *arg, const char *path, int fd, size_t size,
                       struct data_encoded *encoded, struct error *err)
{
    struct text_source *source = arg;
    struct tokens       tokens = { 0 };
    int                 rc;

    if (source->path == NULL && choose(source, err) < 0)
        return -1;
    encoded->has_marks = file_is_json(path);
    if (source->tokenizer == NULL)
        return encoded->has_marks
                   ? err_set(err, "records in JSON need a tokenizer: give --tokenizer") : 1;
    if (size > TEXT_SOURCE_MAX - source->taken)
        return err_set(err, "more than %zu MiB of text: make token shards of it once, with "
                            "muster-train tokenize", TEXT_SOURCE_MAX >> 20);
    source->taken += size;
    if (!encoded->has_marks)
        rc = encode_text(source, fd, size, &tokens, err);
    else if ((rc = open_chat(source, err)) == 0)
        rc = record_file_read(&source->records, path, take_record, &tokens, err);
    encoded->tokens = tokens.id;
    encoded->count = tokens.count;
    free(tokens.piece);
    return rc;
}

static int encode_text(struct text_source *source, int fd, size_t size, struct tokens *tokens,
                       struct error *err)
{
    char *text = xmalloc(size + 1);
    int   rc = file_pread(fd, text, size, 0, err);

    if (rc == 0)
        rc = crew_encode(source->records.crew, text, size, ENCODE_TEMPLATE | ENCODE_SPECIALS, take,
                         tokens, err);
    free(text);
    return rc;
}

/* Which tokenizer, or none? */
static int choose(struct text_source *source, struct error *err)
{
    if (source->option != NULL && strcmp(source->option, "bytes") != 0) {
        source->path = xstrdup(source->option);
        return open_tokenizer(source, err);
    }
    if (source->option == NULL && source->model != NULL) {
        source->path = xasprintf("%s/tokenizer.json", source->model);
        if (access(source->path, F_OK) == 0)
            return open_tokenizer(source, err);
        free(source->path);
        source->path = NULL;
    }
    if (source->is_loaded && source->option == NULL && source->vocabulary > BYTES_MAX)
        return err_set(err, "the model has learnt %d tokens, and %s has no tokenizer.json that "
                            "makes them of text: give --tokenizer", source->vocabulary,
                       source->model);
    source->path = xstrdup("bytes");
    return 0;
}

static int open_tokenizer(struct text_source *source, struct error *err)
{
    if (source->is_masked)
        return err_set(err, "%s: a masked model is trained on bytes only: give --tokenizer bytes "
                            "for a model that has learnt them", source->path);
    source->tokenizer = tokenizer_open(source->path, err);
    if (source->tokenizer == NULL)
        return -1;
    if (tokenizer_words(source->tokenizer) > source->vocabulary)
        return err_set(err, "%s: has %d tokens, and the model only %d", source->path,
                       tokenizer_words(source->tokenizer), source->vocabulary);
    source->records.crew = crew_new(source->tokenizer);
    return 0;
}

/* Finds the chat template, and the token that ends a text. */
static int open_chat(struct text_source *source, struct error *err)
{
    if (source->has_chat)
        return 0;
    source->has_chat = true;
    source->records.template = &source->chat;
    return chat_of_tokenizer(source->tokenizer, source->path, source->template, &source->chat,
                             &source->records.end_id, err);
}

static int take(void *arg, const struct tokens *part, struct error *err)
{
    (void)err;
    tokens_add(arg, part->id, part->count);
    return 0;
}

static int take_record(void *arg, const int32_t *ids, size_t count, struct error *err)
{
    (void)err;
    tokens_add(arg, ids, count);
    return 0;
}

void text_source_clear(struct text_source *source)
{
    if (source->has_chat)
        chat_template_clear(&source->chat);
    crew_free(source->records.crew);
    tokenizer_close(source->tokenizer);
    free(source->path);
    *source = (struct text_source){ .option = NULL };
}
