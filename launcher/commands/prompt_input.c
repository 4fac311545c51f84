/* prompt_input.c - see prompt_input.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/prompt_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/prompt_edit.h"
#include "commands/prompt_process.h"
#include "xalloc.h"

#define READ_SIZE (64 << 10)

static enum prompt_read read_plain(struct prompt_input *input, struct error *err);
static enum prompt_read read_more(struct prompt_input *input, struct error *err);
static int              take(struct prompt_input *input, size_t size, struct error *err);

void prompt_input_begin(struct prompt_input *input)
{
    *input = (struct prompt_input){ .is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) };
    if (input->is_terminal)
        input->edit = prompt_edit_new();
}

void prompt_input_end(struct prompt_input *input)
{
    prompt_edit_free(input->edit);
    buffer_clear(&input->ahead);
    free(input->line);
    *input = (struct prompt_input){ 0 };
}

enum prompt_read prompt_input_next(struct prompt_input *input, const char *prompt,
                                   const char **line, struct error *err)
{
    enum prompt_read read;

    free(input->line);
    input->line = NULL;
    input->number++;
    if (input->is_terminal && input->edit == NULL)
        fprintf(stderr, "%s", prompt);
    read = input->edit != NULL ? prompt_edit_read(input->edit, prompt, &input->line)
                               : read_plain(input, err);
    /* What follows begins on a line of its own. */
    if (input->is_terminal && read != PROMPT_READ)
        fputs("\n", stderr);
    *line = input->line;
    return read;
}

/* Reads ahead, but commands do not miss that: they have no standard input. */
static enum prompt_read read_plain(struct prompt_input *input, struct error *err)
{
    struct buffer   *ahead = &input->ahead;
    enum prompt_read read = PROMPT_READ;
    size_t           seen = 0, left;
    char            *end = NULL;

    while (read == PROMPT_READ) {
        left = ahead->size - input->from;
        if (left > seen)
            end = memchr(ahead->bytes + input->from + seen, '\n', left - seen);
        if (end != NULL || left > PROMPT_LINE_MAX)
            break;
        seen = left;
        read = read_more(input, err);
    }
    left = ahead->size - input->from;
    if (read == PROMPT_END && left > 0) /* the last line may have no newline */
        read = PROMPT_READ;
    if (read == PROMPT_DROPPED)
        input->from = ahead->size;
    if (read != PROMPT_READ)
        return read;
    if (end != NULL)
        left = (size_t)(end - (ahead->bytes + input->from));
    if (take(input, left, err) < 0)
        return PROMPT_WRONG;
    input->from += left + (end != NULL);
    return PROMPT_READ;
}

static enum prompt_read read_more(struct prompt_input *input, struct error *err)
{
    struct buffer *ahead = &input->ahead;
    ssize_t        n;

    if (prompt_process_wait_input() < 0)
        return prompt_process_ending() != 0 ? PROMPT_SIGNAL : PROMPT_DROPPED;
    if (input->from > 0)
        memmove(ahead->bytes, ahead->bytes + input->from, ahead->size - input->from);
    ahead->size -= input->from;
    input->from = 0;
    n = read(STDIN_FILENO, buffer_reserve(ahead, READ_SIZE), READ_SIZE);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return PROMPT_READ;
    if (n < 0) {
        err_set(err, "standard input: %s", strerror(errno));
        return PROMPT_WRONG;
    }
    ahead->size += (size_t)n;
    return n > 0 ? PROMPT_READ : PROMPT_END;
}

static int take(struct prompt_input *input, size_t size, struct error *err)
{
    const char *text = input->ahead.bytes + input->from;

    if (size > PROMPT_LINE_MAX)
        return err_set(err, "standard input: line %zu: longer than %d bytes", input->number,
                       PROMPT_LINE_MAX);
    if (memchr(text, '\0', size) != NULL)
        return err_set(err, "standard input: line %zu: contains a NUL byte", input->number);
    input->line = xstrndup(text, size);
    return 0;
}
