/* shell_word.c - see shell_word.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/shell_word.h"

#include <ctype.h>
#include <string.h>

void shell_word_add(struct buffer *text, const char *word)
{
    const char *at = word;

    buffer_add_text(text, " ");
    while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("_@%+=:,./-", *at) != NULL))
        at++;
    if (*at == '\0') {
        buffer_add_text(text, word);
        return;
    }
    buffer_add_text(text, "'");
    for (at = word; *at != '\0'; at++)
        buffer_add(text, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
    buffer_add_text(text, "'");
}
