/* printable.c - see printable.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "printable.h"

#include <stdbool.h>
#include <string.h>

#include "utf8.h"

#define CUT  "..."
#define LINE " | "

static bool   is_space(char c);
static size_t shown_length(const char *bytes, size_t count);

void printable_tail(const char *bytes, size_t count, char *text, size_t size)
{
    size_t at = 0, put = 0, length;
    bool   has_break = false;

    while (count > 0 && is_space(bytes[count - 1]))
        count--;
    /* A newline may take three places for one; what then does not fit is lost
     * at the end, so leave some room. */
    if (count > size / 2) {
        at = count - size / 2;
        while (at < count && ((unsigned char)bytes[at] & 0xc0) == 0x80)
            at++;
        memcpy(text, CUT, strlen(CUT));
        put = strlen(CUT);
    }
    while (at < count && is_space(bytes[at]))
        at++;
    while (at < count && put + strlen(LINE) + 4 < size) {
        if (bytes[at] == '\n' || bytes[at] == '\r') {
            has_break = true;
            at++;
            continue;
        }
        if (has_break) {
            memcpy(text + put, LINE, strlen(LINE));
            put += strlen(LINE);
            has_break = false;
        }
        length = shown_length(bytes + at, count - at);
        if (length == 0) {
            text[put++] = bytes[at] == '\t' ? ' ' : '?';
            at++;
            continue;
        }
        memcpy(text + put, bytes + at, length);
        put += length;
        at += length;
    }
    text[put] = '\0';
}

static bool is_space(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* Length of the UTF-8 character at bytes that a terminal merely shows; 0 for
 * anything else, C1 controls (U+0080 to U+009F) included. */
static size_t shown_length(const char *bytes, size_t count)
{
    uint32_t code;
    size_t   length = utf8_decode(bytes, count, &code);

    return length > 0 && code >= ' ' && (code < 0x7f || code >= 0xa0) ? length : 0;
}
