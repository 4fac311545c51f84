/* utf8.c - see utf8.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "utf8.h"

size_t utf8_decode(const char *text, size_t size, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char  *byte = (const unsigned char *)text;
    size_t                length, i;

    if (byte[0] < 0x80)
        length = 1;
    else if (byte[0] >= 0xc2 && byte[0] < 0xe0)
        length = 2;
    else if (byte[0] >= 0xe0 && byte[0] < 0xf0)
        length = 3;
    else if (byte[0] >= 0xf0 && byte[0] < 0xf5)
        length = 4;
    else
        return 0;
    if (length > size)
        return 0;
    *code = length == 1 ? byte[0] : byte[0] & (0x7fu >> length);
    for (i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (byte[i] & 0x3f);
    }
    if (*code < least[length] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff)
        return 0;
    return length;
}
