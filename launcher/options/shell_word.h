/* shell_word.h - words of a command that users copy into their shell
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHELL_WORD_H
#define MUSTER_SHELL_WORD_H

#include "buffer.h"

/* Appends a blank and the word, quoted if a shell would change it. */
void shell_word_add(struct buffer *text, const char *word);

#endif
