/* journal_entry.c - see journal_entry.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/journal_entry.h"

#include <string.h>

#include <jansson.h>

#define DIGITS_MAX 18 /* of a number of microseconds: more do not fit into 64 bits */
#define BYTE_MAX   255

static bool is_text(const json_t *entry, const char *key, const char *text);
static bool time_read(const json_t *entry, int64_t *at_us);
static bool message_read(const json_t *message, char text[KERNEL_LINE_MAX + 1]);
static bool bytes_read(const json_t *list, char text[KERNEL_LINE_MAX + 1]);
static char tame(char byte);

bool journal_entry_read(const char *line, size_t size, const char *boot,
                        char text[KERNEL_LINE_MAX + 1], struct kernel_message *message)
{
    json_t *entry = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    bool    is_ours;

    message->text = text;
    is_ours = is_text(entry, "_TRANSPORT", "kernel") && is_text(entry, "SYSLOG_FACILITY", "0") &&
              is_text(entry, "_BOOT_ID", boot) && time_read(entry, &message->at_us) &&
              message_read(json_object_get(entry, "MESSAGE"), text);
    json_decref(entry);
    return is_ours;
}

static bool is_text(const json_t *entry, const char *key, const char *text)
{
    const json_t *value = json_object_get(entry, key);

    return json_is_string(value) && json_string_length(value) == strlen(text) &&
           memcmp(json_string_value(value), text, strlen(text)) == 0;
}

/* The time is that at which journald has got the message, by the clock that we have, too: the
 * kernel's own time drifts from it while a machine is up for months. */
static bool time_read(const json_t *entry, int64_t *at_us)
{
    const char *digits = json_string_value(json_object_get(entry, "__MONOTONIC_TIMESTAMP"));
    size_t      i;

    *at_us = 0;
    if (digits == NULL || digits[0] == '\0')
        return false;
    for (i = 0; digits[i] >= '0' && digits[i] <= '9' && i < DIGITS_MAX; i++)
        *at_us = *at_us * 10 + (digits[i] - '0');
    return digits[i] == '\0';
}

static bool message_read(const json_t *message, char text[KERNEL_LINE_MAX + 1])
{
    const char *bytes = json_string_value(message);
    size_t      size, i;

    if (bytes == NULL)
        return json_is_array(message) && bytes_read(message, text);
    size = json_string_length(message);
    for (i = 0; i < size && i < KERNEL_LINE_MAX; i++)
        text[i] = tame(bytes[i]);
    text[i] = '\0';
    return true;
}

static bool bytes_read(const json_t *list, char text[KERNEL_LINE_MAX + 1])
{
    const json_t *item;
    size_t        i, size = 0;

    json_array_foreach(list, i, item) {
        if (!json_is_integer(item) || json_integer_value(item) < 0 ||
            json_integer_value(item) > BYTE_MAX)
            return false;
        if (size < KERNEL_LINE_MAX)
            text[size++] = tame((char)json_integer_value(item));
    }
    text[size] = '\0';
    return true;
}

/* A message has neither of these in its text: see struct kernel_message. */
static char tame(char byte)
{
    return (char)(byte == '\0' || byte == '\n' ? '?' : byte);
}
