/* kill_gpu.c - see kill_gpu.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/kill_gpu.h"

#include <ctype.h>
#include <string.h>

#include "number.h"
#include "options/option_value.h"

#define PID_LARGEST (1 << 22) /* of Linux */
#define UID_LARGEST 0xfffffffell
#define USER_NAME_MAX 63

static bool is_number(const char *text, int64_t largest, int64_t *number);
static bool is_user(const char *text);

/* "" is refused: an unset shell variable must not end anything. */
int set_kill_gpu(struct options *options, const struct option_row *row, const char *value,
                 struct error *err)
{
    if (!kill_gpu_is(value))
        return err_set(err, "'%.80s' is neither mine, nor the name of a user, nor a PID",
                       value);
    if (options->kill_gpu != NULL)
        return err_set(err, "is given twice: call muster clean once for each");
    return set_text(options, row, value, err);
}

bool kill_gpu_is(const char *text)
{
    int64_t number;

    if (text[strspn(text, "0123456789")] == '\0')
        return is_number(text, PID_LARGEST, &number) && number > 0;
    if (strncmp(text, "uid ", strlen("uid ")) == 0)
        return is_number(text + strlen("uid "), UID_LARGEST, &number);
    return is_user(text);
}

int kill_gpu_pid(const char *text)
{
    int64_t number;

    return is_number(text, PID_LARGEST, &number) ? (int)number : 0;
}

static bool is_number(const char *text, int64_t largest, int64_t *number)
{
    struct error err;

    return parse_number(text, 0, largest, number, &err) == 0;
}

/* What useradd and directory services allow; a dot or a digit alone is no name. */
static bool is_user(const char *text)
{
    const char *at = text;

    if (strlen(text) > USER_NAME_MAX || (!isalnum((unsigned char)*text) && *text != '_'))
        return false;
    while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("_.@-", *at) != NULL))
        at++;
    return *at == '\0' || (strcmp(at, "$") == 0 && at > text);
}
