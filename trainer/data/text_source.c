/* text_source.c - see text_source.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/text_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "text/crew.h"
#include "xalloc.h"

#define BYTES_MAX 512 /* a model with more tokens has not learnt from bytes */

static int choose(struct text_source *source, struct error *err);
static int open_tokenizer(struct text_source *source, struct error *err);
static int take(void *arg, const struct tokens *part, struct error *err);

int text_source_encode(void *arg, int fd, size_t size, int32_t **tokens, uint64_t *count,
                       struct error *err)
{
    struct text_source *source = arg;
    struct tokens       all = { 0 };
    char               *text;
    int                 rc;

    if (source->path == NULL && choose(source, err) < 0)
        return -1;
    if (source->tokenizer == NULL)
        return 1;
    if (size > TEXT_SOURCE_MAX - source->taken)
        return err_set(err, "more than %zu MiB of text: make token shards of it once, with "
                            "muster-train tokenize", TEXT_SOURCE_MAX >> 20);
    source->taken += size;
    text = xmalloc(size + 1);
    rc = file_pread(fd, text, size, 0, err);
    if (rc == 0)
        rc = crew_encode(source->crew, text, size, ENCODE_TEMPLATE | ENCODE_SPECIALS, take, &all,
                         err);
    free(text);
    *tokens = all.id;
    *count = all.count;
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
    source->crew = crew_new(source->tokenizer);
    return 0;
}

static int take(void *arg, const struct tokens *part, struct error *err)
{
    (void)err;
    tokens_add(arg, part->id, part->count);
    return 0;
}

void text_source_clear(struct text_source *source)
{
    crew_free(source->crew);
    tokenizer_close(source->tokenizer);
    free(source->path);
    source->crew = NULL;
    source->tokenizer = NULL;
    source->path = NULL;
}
