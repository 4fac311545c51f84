/* prompt_input.h - the lines of muster exec's prompt: from a terminal, with a prompt, or from a
 * file or a pipe
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROMPT_INPUT_H
#define MUSTER_PROMPT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "err.h"

#define PROMPT_LINE_MAX (1 << 20) /* bytes, without the newline */

enum prompt_read {
    PROMPT_READ,    /* a line */
    PROMPT_DROPPED, /* Ctrl-C at the prompt */
    PROMPT_SIGNAL,  /* prompt_process_ending() says which */
    PROMPT_END,
    PROMPT_WRONG, /* not a line: err says why */
};

struct prompt_input {
    bool                is_terminal; /* somebody types: standard input and stderr are terminals */
    size_t              number;      /* of the last line */
    struct buffer       ahead;       /* what was read beyond it */
    size_t              from;        /* where the next line begins in it */
    char               *line;
    struct prompt_edit *edit; /* NULL: the terminal's own editing */
};

void prompt_input_begin(struct prompt_input *input);

/* Reads a line, after it showed the prompt if this is a terminal. The line has no newline; the next
 * call frees it. Err names the number of a line that is wrong. */
enum prompt_read prompt_input_next(struct prompt_input *input, const char *prompt,
                                   const char **line, struct error *err);

void prompt_input_end(struct prompt_input *input);

#endif
