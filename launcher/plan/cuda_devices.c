/* cuda_devices.c - see cuda_devices.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/cuda_devices.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define DEVICE_MOST 4095

static bool  read_word(const char *word, int gpus, char *name, size_t size);
static char *trim(char *word);

int cuda_devices_read(const char *text, int gpus, struct strlist *devices, struct error *err)
{
    char  *copy = xstrdup(text), *rest = copy, *word;
    char   name[128];
    int    rc = 0;

    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        word = trim(word);
        if (!read_word(word, gpus, name, sizeof name)) {
            rc = word[0] != '\0' && strcmp(word, "-1") != 0;
            break;
        }
        if (strlist_has(devices, name))
            rc = err_set(err, VISIBLE_DEVICES "=%s names %s twice, and CUDA then finds no GPU",
                         text, name);
        strlist_add(devices, name);
    }
    free(copy);
    return rc;
}

/* False: the word ends the list. */
static bool read_word(const char *word, int gpus, char *name, size_t size)
{
    int64_t number;

    snprintf(name, size, "%s", word);
    if (strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0)
        return strlen(word) < size;
    if (parse_number(word, 0, DEVICE_MOST, &number, NULL) < 0 || (gpus > 0 && number >= gpus))
        return false;
    snprintf(name, size, "%d", (int)number);
    return true;
}

static char *trim(char *word)
{
    size_t size;

    while (isspace((unsigned char)*word))
        word++;
    for (size = strlen(word); size > 0 && isspace((unsigned char)word[size - 1]); size--)
        word[size - 1] = '\0';
    return word;
}

bool cuda_devices_are_numbers(const struct strlist *devices)
{
    size_t i;

    for (i = 0; i < devices->count; i++)
        if (!isdigit((unsigned char)devices->item[i][0]))
            return false;
    return true;
}

bool cuda_devices_are_first(const struct strlist *devices)
{
    size_t i;

    for (i = 0; i < devices->count; i++)
        if (!isdigit((unsigned char)devices->item[i][0]) ||
            (size_t)atoi(devices->item[i]) != i)
            return false;
    return true;
}

char *cuda_devices_variable(const struct strlist *devices)
{
    char  *text = xstrdup(VISIBLE_DEVICES "="), *longer;
    size_t i;

    for (i = 0; i < devices->count; i++) {
        longer = xasprintf("%s%s%s", text, i > 0 ? "," : "", devices->item[i]);
        free(text);
        text = longer;
    }
    return text;
}
