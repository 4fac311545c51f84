/* utf8.h - decoding UTF-8 from untrusted text
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_UTF8_H
#define MUSTER_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of size > 0 bytes. Returns its size, or 0 if the bytes are not
 * UTF-8: an unexpected or missing continuation byte, overlong, a surrogate, beyond U+10FFFF. */
size_t utf8_decode(const char *text, size_t size, uint32_t *code);

#endif
