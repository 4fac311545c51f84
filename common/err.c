/* err.c - see err.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_make_harmless(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char next = (unsigned char)text[1];

        if (*text == '\xc2' && next >= 0x80 && next < 0xa0)
            text[1] = '?';
        else if ((unsigned char)*text >= ' ' && *text != 0x7f)
            continue;
        *text = '?';
    }
}

int err_set(struct error *err, const char *format, ...)
{
    struct error made;
    va_list      ap;
    int          n;

    if (err == NULL)
        return -1;
    va_start(ap, format);
    n = vsnprintf(made.text, sizeof made.text, format, ap);
    va_end(ap);
    if (n < 0)
        snprintf(made.text, sizeof made.text, "(error text could not be made)");
    else if ((size_t)n >= sizeof made.text)
        memcpy(made.text + sizeof made.text - 4, "...", 4);
    text_make_harmless(made.text);
    *err = made;
    return -1;
}
