/* hostword.c - see hostword.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/hostword.h"

#include <string.h>

#include "options/address.h"

/* Not isalnum(): the set of letters must not depend on the locale. */
#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static int cut_bracketed(struct hostword *parts, const char **at, struct error *err);
static int cut_plain(struct hostword *parts, const char **at, struct error *err);
static int check_name(const char *name, const char **at, struct error *err);
static int check_ipv6(const char *name, const char **at, struct error *err);
static int refuse_byte(const char *what, const char *at, struct error *err);

int hostword_cut(char *word, struct hostword *parts, const char **at, struct error *err)
{
    char *behind_user = strrchr(word, '@');

    *parts = (struct hostword){ .name = word };
    if (behind_user != NULL) {
        *behind_user = '\0';
        parts->user = word;
        parts->name = behind_user + 1;
        if (hostword_check_user(parts->user, at, err) < 0)
            return -1;
    }
    if (parts->name[0] == '[' && parts->name[strcspn(parts->name, ":]")] == ':')
        return cut_bracketed(parts, at, err);
    return cut_plain(parts, at, err);
}

int hostword_check_user(const char *user, const char **at, struct error *err)
{
    *at = user;
    if (*user == '\0')
        return err_set(err, "the user name is empty");
    if (*user == '-')
        return err_set(err, "a user name cannot begin with '-'");
    *at = user + strspn(user, ALNUM "._-@\\+");
    return **at != '\0' ? refuse_byte("a user's name", *at, err) : 0;
}

/* Cuts "[::1]" or "[::1]:22". */
static int cut_bracketed(struct hostword *parts, const char **at, struct error *err)
{
    char *close = strchr(parts->name, ']');

    *at = parts->name;
    if (close == NULL)
        return err_set(err, "'[' without ']'");
    *close = '\0';
    parts->name++;
    if (close[1] == ':') {
        parts->number = close + 2;
    } else if (close[1] != '\0') {
        *at = close + 1;
        return err_set(err, "only ':' and a number can follow ']'");
    }
    return check_ipv6(parts->name, at, err);
}

/* Cuts "te1", "te1:22", "node[1-4]:22" or "fe80::1". */
static int cut_plain(struct hostword *parts, const char **at, struct error *err)
{
    char *colon = strchr(parts->name, ':');

    if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        parts->is_bare = true;
        return check_ipv6(parts->name, at, err);
    }
    if (colon != NULL) {
        *colon = '\0';
        parts->number = colon + 1;
    }
    return check_name(parts->name, at, err);
}

/* Checks the characters only: hostrange_expand() reads what is in brackets. '#' is allowed
 * because DeepSpeed reads "te1#x" as a name. */
static int check_name(const char *name, const char **at, struct error *err)
{
    *at = name;
    if (*name == '\0')
        return err_set(err, "the host name is empty");
    if (strchr("-.#,]", *name) != NULL)
        return err_set(err, "a host name cannot begin with '%c'", *name);
    for (;;) {
        *at += strspn(*at, ALNUM ".-_#]");
        if (**at != '[')
            break;
        *at += strspn(*at, "[0123456789,-/");
    }
    return **at != '\0' ? refuse_byte("a host name", *at, err) : 0;
}

static int check_ipv6(const char *name, const char **at, struct error *err)
{
    const char *zone = strchr(name, '%');

    if (zone != NULL) {
        *at = zone + 1 + strspn(zone + 1, ALNUM "._-");
        if (zone[1] == '\0' || **at != '\0')
            return refuse_byte("the zone of an IPv6 address", *at, err);
    }
    *at = name;
    return address_is_ipv6(name)
               ? 0
               : err_set(err, "'%.64s' is neither an IPv6 address nor NAME:NUMBER", name);
}

static int refuse_byte(const char *what, const char *at, struct error *err)
{
    unsigned char byte = (unsigned char)*at;

    if (byte == '\0')
        return err_set(err, "%s is empty", what);
    if (byte > ' ' && byte < 0x7f)
        return err_set(err, "'%c' is not allowed in %s%s", byte, what,
                       byte == '{' ? "; write te[1-4], not te{1..4}" : "");
    if (byte == ' ')
        return err_set(err, "a blank is not allowed in %s; write a comma between hosts", what);
    return err_set(err, "byte 0x%02x is not allowed in %s", byte, what);
}
