/* task_output.c - see task_output.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/task_output.h"

#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "xalloc.h"

/* If the agent is gone, we are killed soon, so errors do not matter. */
void task_output_line(struct task_output *out, json_t *line)
{
    char  *text = json_dumps(line, JSON_COMPACT);
    size_t size;

    if (text == NULL)
        xalloc_die();
    size = strlen(text);
    text[size] = '\n'; /* replaces the NUL */
    fd_write_all(out->fd, text, size + 1);
    free(text);
    json_decref(line);
}
