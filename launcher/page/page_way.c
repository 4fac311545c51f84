/* page_way.c - see page_way.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_way.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "options/listen_place.h"
#include "options/shell_word.h"
#include "xalloc.h"

#define SCHEME "http://"
#define FIGURES "/metrics"

static int   read_place(struct listen_place *place, const char *served, struct error *err);
static bool  is_all(const char *address);
static bool  is_loopback(const char *address);
static char *url_of(const char *address, int port);
static char *ssh_to(int port, const char *to, const char *user, const char *host);

int page_way_find(struct page_way *way, const char *served, const char *user, const char *host,
                  struct error *err)
{
    struct listen_place place = { 0 };
    char               *to;

    if (read_place(&place, served, err) < 0)
        return -1;
    *way = (struct page_way){ .is_file = place.path != NULL };
    if (place.path != NULL) {
        way->url = url_of("127.0.0.1", PAGE_WAY_PORT);
        way->ssh = ssh_to(PAGE_WAY_PORT, place.path, user, host);
    } else if (is_loopback(place.host)) {
        way->url = url_of(place.host, place.port);
        to = xasprintf(strchr(place.host, ':') != NULL ? "[%s]:%d" : "%s:%d", place.host,
                       place.port);
        way->ssh = ssh_to(place.port, to, user, host);
        free(to);
    } else {
        way->url = url_of(is_all(place.host) ? host : place.host, place.port);
    }
    listen_place_clear(&place);
    return 0;
}

static int read_place(struct listen_place *place, const char *served, struct error *err)
{
    size_t size = strlen(served);
    char  *text;
    int    rc;

    if (strncmp(served, SCHEME, strlen(SCHEME)) == 0 && size > strlen(SCHEME FIGURES) &&
        strcmp(served + size - strlen(FIGURES), FIGURES) == 0)
        text = xasprintf("%.*s", (int)(size - strlen(SCHEME FIGURES)), served + strlen(SCHEME));
    else if (strncmp(served, "unix:", strlen("unix:")) == 0)
        text = xstrdup(served);
    else
        return err_set(err, "no place of a page: %s", served);
    rc = listen_place_read(place, text, err);
    free(text);
    return rc;
}

static bool is_all(const char *address)
{
    return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", strlen("127.")) == 0 || strcmp(address, "::1") == 0;
}

static char *url_of(const char *address, int port)
{
    return xasprintf(strchr(address, ':') != NULL ? SCHEME "[%s]:%d/" : SCHEME "%s:%d/", address,
                     port);
}

static char *ssh_to(int port, const char *to, const char *user, const char *host)
{
    struct buffer text = { 0 };
    char         *forward = xasprintf("%d:%s", port, to);
    char         *login = xasprintf("%s@%s", user, host);

    buffer_add_text(&text, "ssh -N -L");
    shell_word_add(&text, forward);
    shell_word_add(&text, login);
    buffer_add(&text, "", 1);
    free(forward);
    free(login);
    return text.bytes;
}

void page_way_clear(struct page_way *way)
{
    free(way->url);
    free(way->ssh);
    *way = (struct page_way){ 0 };
}
