/* pattern.h - patterns of the kernel's messages
 *
 * A pattern is a text in which some characters have a meaning:
 *
 *     *   any text, or none
 *     @   the name of a device: any text, at least one byte; the last one of a pattern counts
 *     %   a PCI address, 0000:3b:00.0 or 0000:3b:00, which is a device, too
 *     #   a number of at most 9 digits
 *     ~   a word: anything but blanks, at least one byte
 *
 * It fits a whole text. * and @ stand for as little as possible. Messages name programs, files
 * and hosts, which anyone may call what they like: a pattern should begin with what only the
 * kernel writes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PATTERN_H
#define MUSTER_AGENT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define PATTERN_NUMBERS 2

struct pattern_match {
    const char *device; /* borrowed from the text; NULL: the pattern has none */
    size_t      device_size;
    long        number[PATTERN_NUMBERS]; /* the first and the second */
    int         numbers;                 /* found; more than PATTERN_NUMBERS are only counted */
};

bool pattern_fits(const char *pattern, const char *text, struct pattern_match *match);

/* Returns the size of the PCI address with which a text begins; 0: it does not. */
size_t pattern_pci_size(const char *text);

#endif
