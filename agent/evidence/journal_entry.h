/* journal_entry.h - what journalctl shows of the kernel's log, as messages of the kernel
 *
 * With --output=json journalctl prints an object per line, whose values are texts: the fields of
 * an entry (systemd.journal-fields(7)). A text with bytes that are not printable UTF-8 is a list
 * of their numbers, one that is too long null, and a field that an entry has twice a list of
 * texts. Only journald can write the fields whose names begin with "_", so a program cannot forge
 * a message of the kernel.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_JOURNAL_ENTRY_H
#define MUSTER_AGENT_JOURNAL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "evidence/kernel_log.h"

#define JOURNAL_BOOT_SIZE 33 /* a boot's id: 32 hexadecimal digits */

/* Reads a line without its line break. False: it is no message that the kernel has logged, in
 * facility 0, since this boot. Otherwise message->text points into text, and ends there after
 * KERNEL_LINE_MAX bytes. */
bool journal_entry_read(const char *line, size_t size, const char *boot,
                        char text[KERNEL_LINE_MAX + 1], struct kernel_message *message);

#endif
