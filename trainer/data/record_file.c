/* record_file.c - see record_file.h
 *
 * Some records at a time are read and put into words by one thread, and made tokens by all.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/record_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "chat/lines.h"
#include "data/token_file.h"
#include "text/token_names.h"
#include "xalloc.h"

#define RECORDS   256
#define BYTES_MAX ((size_t)4 << 20) /* of them, but for the last one */
#define NAMED_MAX 10                /* bad lines that are named */

struct batch {
    struct record_file *file;
    const char         *path;
    record_take        *take;
    void               *arg;
    struct tokens       tokens; /* of one record */
    struct entry {
        struct record     record;
        struct chat_text  text;
        struct text_piece *piece;
        uint64_t          line;
    } entry[RECORDS];
    struct crew_text text[RECORDS];
    int              count;
    size_t           bytes;
};

static int  fill(struct batch *batch, struct lines *lines, struct error *err);
static int  add_line(struct batch *batch, const struct line *line, struct error *err);
static int  put_in_words(const struct record_file *file, const struct line *line,
                         struct entry *entry, struct error *err);
static int  skip_bad(struct record_file *file, const char *why, struct error *err);
static void plan_text(struct entry *entry, struct crew_text *text);
static int  mark(void *arg, int n, const struct tokens *tokens, struct error *err);
static void clear(struct batch *batch);

int record_file_read(struct record_file *file, const char *path, record_take *take, void *arg,
                     struct error *err)
{
    struct lines *lines = lines_open(path, err);
    struct batch *batch = xcalloc(1, sizeof *batch);
    struct error  why;
    int           rc = lines != NULL ? 1 : -1, failed;

    batch->file = file;
    batch->path = path;
    batch->take = take;
    batch->arg = arg;
    while (rc > 0) {
        rc = fill(batch, lines, err);
        if (rc >= 0 && crew_encode_all(file->crew, batch->text, batch->count, mark, batch, &failed,
                                       &why) < 0)
            rc = err_set(err, "%s:%" PRIu64 ": %s", path, batch->entry[failed].line, why.text);
        clear(batch);
    }
    tokens_clear(&batch->tokens);
    free(batch);
    lines_close(lines);
    return rc;
}

/* Reads the next records. Returns 0 at the end of the file, and 1 if others follow. */
static int fill(struct batch *batch, struct lines *lines, struct error *err)
{
    struct error      why;
    struct line       line;
    enum lines_result result;

    while (batch->count < RECORDS && batch->bytes < BYTES_MAX) {
        result = lines_next(lines, &line, &why);
        if (result == LINES_END)
            return 0;
        if (result == LINES_FAILED)
            return err_set(err, "%s", why.text);
        if (result == LINES_BROKEN ? skip_bad(batch->file, why.text, err) < 0
                                   : add_line(batch, &line, err) < 0)
            return -1;
    }
    return 1;
}

static int add_line(struct batch *batch, const struct line *line, struct error *err)
{
    struct entry *entry = &batch->entry[batch->count];
    struct error  why, where;

    batch->file->records++;
    if (put_in_words(batch->file, line, entry, &why) < 0) {
        record_clear(&entry->record);
        chat_text_clear(&entry->text);
        err_set(&where, "%s:%" PRIu64 ": %s", batch->path, line->number, why.text);
        return skip_bad(batch->file, where.text, err);
    }
    entry->line = line->number;
    plan_text(entry, &batch->text[batch->count++]);
    batch->bytes += line->size;
    return 0;
}

static int put_in_words(const struct record_file *file, const struct line *line,
                        struct entry *entry, struct error *err)
{
    if (record_parse(&entry->record, line->text, line->size, file->template->shape != NULL,
                     err) < 0)
        return -1;
    if (chat_render(file->template, &entry->record, false, &entry->text, err) < 0)
        return -1;
    return entry->text.pieces > 0 ? 0 : err_set(err, "the record has no text");
}

static int skip_bad(struct record_file *file, const char *why, struct error *err)
{
    if (++file->bad > file->bad_max)
        return file->bad_max > 0
                   ? err_set(err, "%s (%" PRId64 " bad lines, more than --bad-lines allows)", why,
                             file->bad)
                   : err_set(err, "%s (--bad-lines N leaves out up to N such lines)", why);
    if (!file->is_quiet && file->bad <= NAMED_MAX)
        fprintf(stderr, "muster-train: %s: left out\n", why);
    return 0;
}

static void plan_text(struct entry *entry, struct crew_text *text)
{
    size_t i;

    entry->piece = xcalloc(entry->text.pieces + 1, sizeof *entry->piece);
    for (i = 0; i < entry->text.pieces; i++)
        entry->piece[i] = (struct text_piece){ entry->text.piece[i].text,
                                               entry->text.piece[i].size };
    *text = (struct crew_text){ entry->piece, (int)entry->text.pieces, ENCODE_SPECIALS };
    if (entry->text.is_open) /* else the template has written what begins a text */
        text->how |= ENCODE_TEMPLATE;
}

/* Marks the tokens of a record, and adds the one that ends it. */
static int mark(void *arg, int n, const struct tokens *tokens, struct error *err)
{
    struct batch             *batch = arg;
    const struct record_file *file = batch->file;
    const struct entry       *entry = &batch->entry[n];
    int32_t                  *ids;
    size_t                    i;

    batch->tokens.count = 0;
    tokens_add(&batch->tokens, tokens->id, tokens->count);
    if (entry->text.is_open && file->end_id >= 0)
        tokens_add(&batch->tokens, &file->end_id, 1);
    ids = batch->tokens.id;
    for (i = 0; i < tokens->count && !file->learns_all; i++)
        if (!entry->text.piece[tokens->piece[i]].is_trained)
            ids[i] |= TOKEN_MUTED;
    if (batch->tokens.count == 0)
        return 0;
    ids[0] |= TOKEN_BEGINS;
    return batch->take(batch->arg, ids, batch->tokens.count, err);
}

static void clear(struct batch *batch)
{
    int i;

    for (i = 0; i < batch->count; i++) {
        record_clear(&batch->entry[i].record);
        chat_text_clear(&batch->entry[i].text);
        free(batch->entry[i].piece);
        batch->entry[i].piece = NULL;
    }
    batch->count = 0;
    batch->bytes = 0;
}

int chat_of_tokenizer(const struct tokenizer *tokenizer, const char *path, const char *name,
                      struct chat_template *template, int32_t *end_id, struct error *err)
{
    char *dir = token_names_directory(path), *end = NULL;
    int   rc = chat_template_read(template, dir, name, err);

    *end_id = -1;
    if (rc == 0 && !tokenizer_ends_texts(tokenizer))
        rc = token_names_find(path, "eos_token", &end, err);
    if (rc == 0 && end != NULL)
        *end_id = tokenizer_id(tokenizer, end);
    free(end);
    free(dir);
    return rc;
}
