/* page_host.c - see page_host.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_SIZE 254 /* of a name, with its end */

static bool split(const char *header, char host[HOST_SIZE]);
static bool is_port(const char *text);
static bool is_address(const char *host);
static bool is_name(const char *host, const char *machine);

bool page_host_is_ours(const char *header, const char *machine)
{
    char host[HOST_SIZE];

    return header != NULL && split(header, host) &&
           (is_address(host) || is_name(host, machine));
}

/* Leaves out the port; an address of IPv6 keeps its first bracket, without which it is none. */
static bool split(const char *header, char host[HOST_SIZE])
{
    const char *end = header[0] == '[' ? strchr(header, ']') : strchr(header, ':');
    size_t      size;

    if (header[0] == '[' && end == NULL)
        return false;
    size = end != NULL ? (size_t)(end - header) : strlen(header);
    if (size == 0 || size >= HOST_SIZE)
        return false;
    memcpy(host, header, size);
    host[size] = '\0';
    return end == NULL || is_port(*end == ']' ? end + 1 : end);
}

static bool is_port(const char *text)
{
    return *text == '\0' || (*text == ':' && strspn(text + 1, "0123456789") == strlen(text + 1));
}

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return host[0] == '[' ? inet_pton(AF_INET6, host + 1, address) == 1
                          : inet_pton(AF_INET, host, address) == 1;
}

static bool is_name(const char *host, const char *machine)
{
    const size_t length = strlen(host);

    return strcasecmp(host, "localhost") == 0 ||
           (strncasecmp(host, machine, length) == 0 &&
            (machine[length] == '\0' || machine[length] == '.'));
}
