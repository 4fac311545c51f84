/* listen_place.c - see listen_place.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/listen_place.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "number.h"
#include "options/address.h"
#include "options/option_value.h"
#include "xalloc.h"

#define UNIX_WORD "unix:"
#define PATH_SIZE sizeof(((struct sockaddr_un *)NULL)->sun_path) /* with its end */
#define SHAPES    "[ADDRESS:]PORT, or the path of a socket"

static int read_path(struct listen_place *place, const char *path, struct error *err);
static int read_host(struct listen_place *place, const char *text, size_t length,
                     struct error *err);
static int read_port(struct listen_place *place, const char *text, struct error *err);

int listen_place_read(struct listen_place *place, const char *text, struct error *err)
{
    const char *colon = strrchr(text, ':');

    *place = (struct listen_place){ .host = "127.0.0.1" };
    if (strncmp(text, UNIX_WORD, strlen(UNIX_WORD)) == 0)
        return read_path(place, text + strlen(UNIX_WORD), err);
    if (strstr(text, "://") != NULL)
        return err_set(err, "'%.200s' is a URL; write " SHAPES, text);
    if (strchr(text, '/') != NULL)
        return read_path(place, text, err);
    if (text[0] == '[' && text[strlen(text) - 1] == ']')
        return err_set(err, "'%.200s' has no port: write %.200s:PORT", text, text);
    if (colon == NULL)
        return read_port(place, text, err);
    if (read_host(place, text, (size_t)(colon - text), err) < 0)
        return -1;
    return read_port(place, colon + 1, err);
}

/* The kernel has room for few bytes. */
static int read_path(struct listen_place *place, const char *path, struct error *err)
{
    if (path[0] == '\0')
        return err_set(err, "names no socket; write " UNIX_WORD "PATH");
    if (path[strlen(path) - 1] == '/')
        return err_set(err, "'%.200s' is a directory; name the socket in it", path);
    if (strlen(path) >= PATH_SIZE)
        return err_set(err, "the path of a socket may have at most %zu bytes, and this one has "
                            "%zu: take a shorter one, or a relative one",
                       PATH_SIZE - 1, strlen(path));
    place->path = xstrdup(path);
    return 0;
}

/* Names are not looked up: it would be left to a name server who can read what is served. */
static int read_host(struct listen_place *place, const char *text, size_t length,
                     struct error *err)
{
    bool            in_brackets = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    struct in_addr  bytes;
    bool            is_good;

    if (in_brackets) {
        text++;
        length -= 2;
    }
    if (length >= sizeof place->host)
        return err_set(err, "its address is longer than any; write " SHAPES);
    snprintf(place->host, sizeof place->host, "%.*s", (int)length, text);
    if (!in_brackets && address_is_ipv6(place->host))
        return err_set(err, "an IPv6 address needs brackets: [%s]:PORT", place->host);
    if (strcmp(place->host, "localhost") == 0 && !in_brackets)
        snprintf(place->host, sizeof place->host, "127.0.0.1");
    is_good = in_brackets ? address_is_ipv6(place->host)
                          : inet_pton(AF_INET, place->host, &bytes) == 1;
    if (!is_good)
        return err_set(err, "'%s' is no address in numbers, such as 10.0.0.5 or [fd00::5]; "
                            "0.0.0.0 is all that this machine has", place->host);
    return 0;
}

static int read_port(struct listen_place *place, const char *text, struct error *err)
{
    struct error why;
    int64_t      port;

    if (parse_number(text, 0, UINT16_MAX, &port, &why) < 0)
        return err_set(err, "the port: %s; write " SHAPES, why.text);
    place->port = (int)port;
    return 0;
}

void listen_place_clear(struct listen_place *place)
{
    free(place->path);
    *place = (struct listen_place){ 0 };
}

int set_listen_place(struct options *options, const struct option_row *row, const char *value,
                     struct error *err)
{
    struct listen_place place;

    if (value[0] != '\0') {
        if (listen_place_read(&place, value, err) < 0)
            return -1;
        listen_place_clear(&place);
    }
    return set_text(options, row, value, err);
}
