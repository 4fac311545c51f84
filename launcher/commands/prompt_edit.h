/* prompt_edit.h - a line that is edited on the terminal, with a history of earlier ones: by libedit
 *
 * The terminal has its normal mode except while prompt_edit_read() waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROMPT_EDIT_H
#define MUSTER_PROMPT_EDIT_H

#include "commands/prompt_input.h"

struct prompt_edit;

/* Returns NULL if muster was built without libedit. */
struct prompt_edit *prompt_edit_new(void);

/* Sets *line, which the caller frees, if the result is PROMPT_READ. Lines that do not begin with a
 * blank are kept for the next time (history/typed_lines.h). */
enum prompt_read prompt_edit_read(struct prompt_edit *edit, const char *prompt, char **line);

void prompt_edit_free(struct prompt_edit *edit);

#endif
