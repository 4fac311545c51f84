/* common_text.c - see common_text.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/common_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "outcome/ssh_advice.h"
#include "strlist.h"
#include "xalloc.h"

#define NAME_CHARS   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
#define USER_BEFORE  "for user "
#define FINGERPRINT  "SHA256:"
#define FINGER_CHARS NAME_CHARS "+/="

static bool   is_same(const struct group *group, const struct outcome *outcome,
                      common_text_reader *text_of);
static char  *key_of(const char *text, const struct plan_node *node, struct strlist *gaps);
static size_t variable_at(const char *text, const char *at, const struct plan_node *node);
static size_t user_at(const char *text, const char *at);
static size_t own_name_at(const char *at, const struct plan_node *node);
static size_t name_at(const char *at, const char *name);
static size_t address_at(const char *at);
static size_t line_number_at(const char *text, const char *at);
static char  *list_of(const struct group *group, const struct outcome *outcome,
                      common_text_reader *text_of);

char *common_text_key(const char *text, const struct plan_node *node)
{
    return key_of(text, node, NULL);
}

char *common_text_cause(const struct group *group, const char *key,
                        const struct outcome *outcome, common_text_reader *text_of)
{
    return xstrdup(is_same(group, outcome, text_of) ? text_of(outcome, group->member[0]) : key);
}

char *common_text_hint(const struct group *group, const struct outcome *outcome,
                       common_text_reader *text_of)
{
    int   first = group->member[0];
    char *text;

    if (is_same(group, outcome, text_of))
        return xstrdup(text_of(outcome, first));
    text = list_of(group, outcome, text_of);
    if (text == NULL)
        text = xasprintf("for each node, for example %s: %s", outcome->plan->node[first].host,
                         text_of(outcome, first));
    return text;
}

static bool is_same(const struct group *group, const struct outcome *outcome,
                    common_text_reader *text_of)
{
    const char *first = text_of(outcome, group->member[0]);
    size_t      i;

    for (i = 1; i < group->count; i++)
        if (strcmp(text_of(outcome, group->member[i]), first) != 0)
            return false;
    return true;
}

/* Returns the key, and adds the omitted parts to gaps, unless that is NULL. */
static char *key_of(const char *text, const struct plan_node *node, struct strlist *gaps)
{
    const char   *at;
    struct buffer key = { 0 };
    size_t        size;

    for (at = text; *at != '\0'; at += size) {
        size = variable_at(text, at, node);
        if (size > 0) {
            buffer_add_text(&key, COMMON_TEXT_GAP);
            if (gaps != NULL)
                strlist_add_bytes(gaps, at, size);
        } else {
            buffer_add(&key, at, size = 1);
        }
    }
    buffer_add(&key, "", 1);
    return key.bytes;
}

/* Returns how many bytes at this place of text do not count. */
static size_t variable_at(const char *text, const char *at, const struct plan_node *node)
{
    size_t size;

    if ((size = ssh_advice_args(text, at)) > 0 || (size = user_at(text, at)) > 0)
        return size;
    if (at > text && isdigit((unsigned char)*at) && at[-1] == ':')
        return line_number_at(text, at);
    if (at > text && strchr(NAME_CHARS, at[-1]) != NULL)
        return 0;
    if (strncmp(at, FINGERPRINT, strlen(FINGERPRINT)) == 0)
        return strlen(FINGERPRINT) + strspn(at + strlen(FINGERPRINT), FINGER_CHARS);
    if (at[0] == '[' && (size = own_name_at(at + 1, node)) > 0 && at[1 + size] == ']' &&
        at[1 + size + 1] == ':')
        return 1 + size + 2 + strspn(at + 1 + size + 2, "0123456789");
    return own_name_at(at, node);
}

/* Matches ann in "refused for user ann". */
static size_t user_at(const char *text, const char *at)
{
    const size_t length = strlen(USER_BEFORE);

    return (size_t)(at - text) >= length && strncmp(at - length, USER_BEFORE, length) == 0
               ? strcspn(at, " ,;)") : 0;
}

/* Matches a name of the node, or any address. */
static size_t own_name_at(const char *at, const struct plan_node *node)
{
    size_t size = name_at(at, node->host);

    if (size == 0 && node->addr != NULL)
        size = name_at(at, node->addr);
    return size > 0 ? size : address_at(at);
}

/* Matches the name as a whole word, and its domain, if there is one. */
static size_t name_at(const char *at, const char *name)
{
    size_t length = strlen(name), size;

    if (strncmp(at, name, length) != 0)
        return 0;
    size = length + (at[length] == '.' ? strspn(at + length, NAME_CHARS) : 0);
    while (size > length && at[size - 1] == '.') /* the end of a sentence */
        size--;
    return at[size] != '\0' && strchr(NAME_CHARS, at[size]) != NULL && at[size] != '.' ? 0 : size;
}

static size_t address_at(const char *at)
{
    char          word[INET6_ADDRSTRLEN];
    unsigned char address[16];
    size_t        size = strspn(at, "0123456789abcdefABCDEF.:");

    while (size > 0 && strchr(".:", at[size - 1]) != NULL)
        size--;
    if (size == 0 || size >= sizeof word)
        return 0;
    memcpy(word, at, size);
    word[size] = '\0';
    if (inet_pton(AF_INET, word, address) == 1 || inet_pton(AF_INET6, word, address) == 1)
        return size;
    return 0;
}

/* Matches 12 in "/home/me/.ssh/known_hosts:12". */
static size_t line_number_at(const char *text, const char *at)
{
    const char *word = at;

    while (word > text && word[-1] != ' ')
        word--;
    return *word == '/' || *word == '~' ? strspn(at, "0123456789") : 0;
}

/* Returns one text for all nodes, or NULL. */
static char *list_of(const struct group *group, const struct outcome *outcome,
                     common_text_reader *text_of)
{
    struct strlist *gaps = xcalloc(group->count, sizeof *gaps);
    char           *text;
    size_t          i;

    for (i = 0; i < group->count; i++)
        free(key_of(text_of(outcome, group->member[i]), &outcome->plan->node[group->member[i]],
                    &gaps[i]));
    text = ssh_advice_fold(group->key, COMMON_TEXT_GAP, gaps, group->count);
    for (i = 0; i < group->count; i++)
        strlist_clear(&gaps[i]);
    free(gaps);
    return text;
}
