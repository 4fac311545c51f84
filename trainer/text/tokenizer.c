/* tokenizer.c - see tokenizer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "text/tokenizer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "text/tokenizer_state.h"
#include "xalloc.h"

static void say_spaces(const char *bytes, size_t size, struct buffer *text);

struct tokenizer *tokenizer_open(const char *path, struct error *err)
{
    struct tokenizer *tokenizer;
    struct stat       is;
    char              inside[PATH_MAX], *text;
    size_t            size;

    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        snprintf(inside, sizeof inside, "%s/tokenizer.json", path);
        path = inside;
    }
    text = file_read(path, TOKENIZER_SIZE_MAX, &size, err);
    if (text == NULL)
        return NULL;
    tokenizer = tokenizer_parse(path, text, size, err);
    free(text);
    return tokenizer;
}

struct tokenizer *tokenizer_parse(const char *name, const char *text, size_t size,
                                  struct error *err)
{
    struct tokenizer *tokenizer = xcalloc(1, sizeof *tokenizer);
    struct error      why;
    json_error_t      at;

    tokenizer->json = json_loadb(text, size, 0, &at);
    if (tokenizer->json == NULL)
        err_set(err, "%s:%d: %s", name, at.line, at.text);
    else if (tokenizer_read(tokenizer, &why) < 0)
        err_set(err, "%s: %s", name, why.text);
    else {
        /* Only the normalizer's texts are used from here on. */
        json_object_del(json_object_get(tokenizer->json, "model"), "vocab");
        json_object_del(json_object_get(tokenizer->json, "model"), "merges");
        return tokenizer;
    }
    tokenizer_close(tokenizer);
    return NULL;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    split_clear(&tokenizer->split);
    vocab_clear(&tokenizer->vocab);
    vocab_clear(&tokenizer->names);
    merges_clear(&tokenizer->merges);
    added_clear(&tokenizer->raw);
    added_clear(&tokenizer->normalized);
    free(tokenizer->is_special);
    json_decref(tokenizer->json);
    free(tokenizer);
}

int tokenizer_words(const struct tokenizer *tokenizer)
{
    return tokenizer->words;
}

int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *token)
{
    const int32_t id = vocab_find(&tokenizer->names, token, strlen(token));

    return id >= 0 ? id : vocab_find(&tokenizer->vocab, token, strlen(token));
}

bool tokenizer_say(const struct tokenizer *tokenizer, int32_t id, struct buffer *text,
                   bool *is_special)
{
    const char *bytes;
    size_t      size;

    if (id < 0 || id >= tokenizer->words)
        return false;
    *is_special = tokenizer->is_special[id];
    bytes = vocab_bytes(&tokenizer->names, id, &size);
    if (bytes != NULL) {
        buffer_add(text, bytes, size);
        return true;
    }
    bytes = vocab_bytes(&tokenizer->vocab, id, &size);
    if (bytes == NULL)
        return false;
    if (tokenizer->split.is_bytes)
        buffer_add(text, bytes, size);
    else if (size == 6 && memcmp(bytes, "<0x", 3) == 0)
        buffer_add(text, &(char){ (char)strtol(bytes + 3, NULL, 16) }, 1);
    else
        say_spaces(bytes, size, text);
    return true;
}

/* In Llama 2's kind U+2581 stands for a space. */
static void say_spaces(const char *bytes, size_t size, struct buffer *text)
{
    static const char mark[] = "\xe2\x96\x81";
    const char       *end = bytes + size, *found;

    while ((found = memmem(bytes, (size_t)(end - bytes), mark, sizeof mark - 1)) != NULL) {
        buffer_add(text, bytes, (size_t)(found - bytes));
        buffer_add(text, " ", 1);
        bytes = found + sizeof mark - 1;
    }
    buffer_add(text, bytes, (size_t)(end - bytes));
}

bool tokenizer_ends_texts(const struct tokenizer *tokenizer)
{
    return tokenizer->afters > 0;
}

bool tokenizer_takes_parts(const struct tokenizer *tokenizer)
{
    int i;

    for (i = 0; i < tokenizer->normal.steps; i++)
        if (tokenizer->normal.step[i].kind != NORMAL_FORM)
            return false;
    return tokenizer->split.is_local && tokenizer->split.steps > 0 &&
           tokenizer->normalized.nodes == 0;
}
