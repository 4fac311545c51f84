/* fuzz_chat.c - any bytes as a file of records, as one record in each chat template, and as a
 * template
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chat/lines.h"
#include "chat/record.h"
#include "chat/template.h"
#include "chat/template_shape.h"

static void read_file(const char *path, size_t size);
static void read_record(const char *text, size_t size, bool has_template);
static void render_all(const struct record *record);
static void render(const struct chat_template *template, const struct record *record,
                   bool wants_answer, struct chat_text *text);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int  fd = -1;
    static char path[64];
    const char *similar;
    char       *system;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    read_file(path, size);
    template_shape_of((const char *)data, size, &system, &similar);
    free(system);
    return 0;
}

/* Records are in the file one after another, and a failure comes with its reason. */
static void read_file(const char *path, size_t size)
{
    struct error      err = { "" };
    struct lines     *lines = lines_open(path, &err);
    struct line       line;
    uint64_t          before = 0;
    enum lines_result result;

    if (lines == NULL)
        abort();
    while ((result = lines_next(lines, &line, &err)) == LINES_RECORD) {
        if (line.size == 0 || line.size > size || line.number < before)
            abort();
        size -= line.size;
        before = line.number;
        read_record(line.text, line.size, true);
        read_record(line.text, line.size, false);
    }
    /* None is too long here. */
    if (result == LINES_BROKEN || (result == LINES_FAILED && err.text[0] == '\0'))
        abort();
    lines_close(lines);
}

static void read_record(const char *text, size_t size, bool has_template)
{
    struct error  err = { "" };
    struct record record;

    if (record_parse(&record, text, size, has_template, &err) < 0) {
        if (err.text[0] == '\0' || record.turns != 0)
            abort();
        return;
    }
    if (!has_template && !record.is_plain)
        abort();
    render_all(&record);
    record_clear(&record);
}

static void render_all(const struct record *record)
{
    static const char *const names[] = {
        "chatml", "qwen2", "qwen2.5", "qwen3", "llama3", "llama3.1", "mistral", "mistral-v1",
        "mistral-v3", "mistral-tekken", "zephyr", "none",
    };
    struct chat_template template;
    struct chat_text     text = { 0 };
    struct error         err;
    size_t               i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (chat_template_named(&template, names[i], &err) < 0)
            abort();
        render(&template, record, false, &text);
        render(&template, record, true, &text);
    }
    chat_text_clear(&text);
}

/* Every byte can be read, no piece is empty, and what is trained on is part of it. */
static void render(const struct chat_template *template, const struct record *record,
                   bool wants_answer, struct chat_text *text)
{
    struct error err = { "" };
    size_t       i, j, sum = 0;
    bool         is_trained = false;

    if (chat_render(template, record, wants_answer, text, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    for (i = 0; i < text->pieces; i++) {
        if (text->piece[i].size == 0)
            abort();
        for (j = 0; j < text->piece[i].size; j++)
            sum += (unsigned char)text->piece[i].text[j];
        is_trained |= text->piece[i].is_trained;
    }
    if (!is_trained || sum == SIZE_MAX)
        abort();
}
