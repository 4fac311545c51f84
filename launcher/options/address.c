/* address.c - see address.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define ADDRESS_MAX 255 /* GO has room for more, but host names are shorter */
#define DIGITS      "0123456789"
#define ALNUM       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS

static int  refuse_more(const char *text, struct error *err);
static int  refuse_port(const char *text, const char *end, const char *port, struct error *err);
static int  check_name(const char *text, struct error *err);

char *address_read(const char *text, struct error *err)
{
    size_t      length = strlen(text);
    bool        in_brackets = text[0] == '[' && text[length - 1] == ']';
    char       *address;
    const char *colon;
    int         rc;

    if (length > ADDRESS_MAX) {
        err_set(err, "is longer than any host name");
        return NULL;
    }
    if (refuse_more(text, err) < 0)
        return NULL;
    address = in_brackets ? xstrndup(text + 1, length - 2) : xstrdup(text);
    colon = strchr(address, ':');
    if (colon == NULL && !in_brackets)
        rc = check_name(address, err);
    else
        rc = address_is_ipv6(address) ? 0 : err_set(err, "'%s' is not an IPv6 address", address);
    if (rc == 0)
        return address;
    free(address);
    return NULL;
}

/* Refuses what is around an address elsewhere. torchrun takes a port; an IPv6 address has more
 * than one colon. */
static int refuse_more(const char *text, struct error *err)
{
    const char *scheme = strstr(text, "://"), *at = strchr(text, '@'), *colon = strchr(text, ':');
    const char *bracket = strstr(text, "]:");

    if (scheme != NULL)
        return err_set(err, "'%s' is a URL; write --master_addr=%.*s", text,
                       (int)strcspn(scheme + 3, ":/"), scheme + 3);
    if (at != NULL)
        return err_set(err, "'%s' contains a user; write --master_addr=%s (--ssh_user, or user= "
                            "in the hostfile, is for the login)", text, at + 1);
    if (text[0] == '[' && bracket != NULL)
        return refuse_port(text + 1, bracket, bracket + 2, err);
    if (colon != NULL && strchr(colon + 1, ':') == NULL)
        return refuse_port(text, colon, colon + 1, err);
    return 0;
}

static int refuse_port(const char *text, const char *end, const char *port, struct error *err)
{
    return err_set(err, "'%s' contains a port; write --master_addr=%.*s --master_port=%s", text,
                   (int)(end - text), text, port);
}

/* inet_pton() knows addresses but not their zone. */
bool address_is_ipv6(const char *text)
{
    struct in6_addr bytes;
    size_t          length = strcspn(text, "%");
    char           *address = xstrndup(text, length);
    bool            good = inet_pton(AF_INET6, address, &bytes) == 1;

    free(address);
    if (text[length] == '%')
        good = good && text[length + 1] != '\0' &&
               text[length + 1 + strspn(text + length + 1, ALNUM "._-")] == '\0';
    return good;
}

static int check_name(const char *text, struct error *err)
{
    struct in_addr bytes;
    const char    *end = text + strspn(text, ALNUM ".-_");

    if (*end != '\0' || text[0] == '\0' || text[0] == '-' || text[0] == '.')
        return err_set(err, "'%s' is neither a host name nor an address", text);
    if (text[strspn(text, DIGITS ".")] == '\0' && inet_pton(AF_INET, text, &bytes) != 1)
        return err_set(err, "'%s' is not an IPv4 address: those have four numbers up to 255",
                       text);
    return 0;
}
