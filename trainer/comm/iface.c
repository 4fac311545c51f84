/* iface.c - see iface.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/iface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Does text name this interface, by the backend's rule? */
typedef bool match_f(const char *name, const char *text);

static int     choose_gloo(const struct ifaddrs *all, struct iface *chosen, struct error *err);
static int     choose_nccl(const struct ifaddrs *all, struct iface *chosen, struct error *err);
static int     take_named(const struct ifaddrs *all, match_f *match, const char *variable,
                          const char *text, struct iface *chosen, struct error *err);
static match_f nccl_matches, gloo_matches, is_infiniband, is_network, is_docker, is_anything;
static bool    take_first(const struct ifaddrs *all, match_f *match, const char *text,
                          struct iface *chosen);
static bool    take_own(struct iface *chosen, struct error *err);
static bool    is_loopback(const char *address);
static bool    take_route(const char *host, struct iface *chosen, struct error *err);
static bool    source_of(const struct addrinfo *to, struct sockaddr_storage *own);
static void    fill(struct iface *iface, const char *name, const struct sockaddr *address);
static bool    usable(const struct ifaddrs *one);
static void    name_of_address(const struct ifaddrs *all, struct iface *iface);

int iface_choose(const char *backend, struct iface *chosen, struct error *err)
{
    struct ifaddrs *all = NULL;
    int             rc;

    *chosen = (struct iface){ .name = "" };
    if (getifaddrs(&all) < 0)
        return err_set(err, "interfaces: %s", strerror(errno));
    rc = strcmp(backend, "nccl") == 0 ? choose_nccl(all, chosen, err)
                                      : choose_gloo(all, chosen, err);
    if (rc == 0 && chosen->name[0] == '\0')
        name_of_address(all, chosen);
    freeifaddrs(all);
    return rc;
}

/* Takes the interface that GLOO_SOCKET_IFNAME names, else the one that packets to MASTER_ADDR
 * leave from, else the host's own. */
static int choose_gloo(const struct ifaddrs *all, struct iface *chosen, struct error *err)
{
    const char *asked = getenv("GLOO_SOCKET_IFNAME"), *master = getenv("MASTER_ADDR");

    if (asked != NULL && *asked != '\0')
        return take_named(all, gloo_matches, "GLOO_SOCKET_IFNAME", asked, chosen, err);
    if (master != NULL && *master != '\0')
        return take_route(master, chosen, err) ? 0 : err_set(err, "MASTER_ADDR %s", err->text);
    return take_own(chosen, err) ? 0 : -1;
}

/* Takes the address of the host's own name. If the name has no address or only a loopback
 * address, takes the source address of the default route (192.0.2.1 belongs to no host), else
 * the loopback address. */
static bool take_own(struct iface *chosen, struct error *err)
{
    char host[65] = "";

    gethostname(host, sizeof host - 1);
    if (take_route(host, chosen, err) && !is_loopback(chosen->address))
        return true;
    *chosen = (struct iface){ .name = "" };
    if (take_route("192.0.2.1", chosen, err) && !is_loopback(chosen->address))
        return true;
    *chosen = (struct iface){ .name = "" };
    return take_route("127.0.0.1", chosen, err);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Takes the interface that NCCL_SOCKET_IFNAME names, else an InfiniBand one, else any except
 * docker*, lo* and virbr*, else a docker* one, else any. */
static int choose_nccl(const struct ifaddrs *all, struct iface *chosen, struct error *err)
{
    const char *asked = getenv("NCCL_SOCKET_IFNAME");

    if (asked != NULL && *asked != '\0')
        return take_named(all, nccl_matches, "NCCL_SOCKET_IFNAME", asked, chosen, err);
    if (take_first(all, is_infiniband, "", chosen) || take_first(all, is_network, "", chosen) ||
        take_first(all, is_docker, "", chosen) || take_first(all, is_anything, "", chosen))
        return 0;
    return err_set(err, "no interface has an address");
}

static int take_named(const struct ifaddrs *all, match_f *match, const char *variable,
                      const char *text, struct iface *chosen, struct error *err)
{
    char list[512];

    if (take_first(all, match, text, chosen))
        return 0;
    iface_list(list, sizeof list);
    return err_set(err, "%s=%.100s: no such interface, or it is down (available: %s)", variable,
                   text, list);
}

static bool take_first(const struct ifaddrs *all, match_f *match, const char *text,
                       struct iface *chosen)
{
    for (; all != NULL; all = all->ifa_next) {
        if (!usable(all) || !match(all->ifa_name, text))
            continue;
        fill(chosen, all->ifa_name, all->ifa_addr);
        return true;
    }
    return false;
}

/* Excludes IPv6 link-local addresses, which need a scope id. */
static bool usable(const struct ifaddrs *one)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)one->ifa_addr;

    if (one->ifa_addr == NULL || !(one->ifa_flags & IFF_UP))
        return false;
    return one->ifa_addr->sa_family == AF_INET ||
           (one->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr));
}

/* "eth,ib0": prefixes of names; "=eth0,ib0": whole names; "^docker": all but these. */
static bool nccl_matches(const char *name, const char *text)
{
    const bool  but = *text == '^', exact = text[but] == '=';
    const char *word = text + but + exact;
    size_t      size;

    for (; *word != '\0'; word += size + (word[size] == ',')) {
        size = strcspn(word, ",");
        if (strncmp(name, word, size) == 0 && (!exact || name[size] == '\0'))
            return !but;
    }
    return but;
}

static bool gloo_matches(const char *name, const char *text)
{
    const size_t size = strcspn(text, ",");

    return strncmp(name, text, size) == 0 && name[size] == '\0';
}

static bool is_infiniband(const char *name, const char *text)
{
    (void)text;
    return strncmp(name, "ib", 2) == 0;
}

static bool is_network(const char *name, const char *text)
{
    (void)text;
    return strncmp(name, "docker", 6) != 0 && strncmp(name, "lo", 2) != 0 &&
           strncmp(name, "virbr", 5) != 0;
}

static bool is_docker(const char *name, const char *text)
{
    (void)text;
    return strncmp(name, "docker", 6) == 0;
}

static bool is_anything(const char *name, const char *text)
{
    (void)name;
    (void)text;
    return true;
}

/* Takes the local address that packets to host leave from. */
static bool take_route(const char *host, struct iface *chosen, struct error *err)
{
    const struct addrinfo   hints = { .ai_socktype = SOCK_DGRAM };
    struct addrinfo        *found = NULL, *at;
    struct sockaddr_storage own;
    int                     rc = getaddrinfo(host, "9", &hints, &found);

    if (rc != 0) {
        err_set(err, "%.80s: %s", host, gai_strerror(rc));
        return false;
    }
    for (at = found; at != NULL && chosen->address[0] == '\0'; at = at->ai_next)
        if (source_of(at, &own))
            fill(chosen, "", (const struct sockaddr *)&own);
    freeaddrinfo(found);
    if (chosen->address[0] != '\0')
        return true;
    err_set(err, "%.80s: no route to this host", host);
    return false;
}

/* Connecting a datagram socket sends nothing. */
static bool source_of(const struct addrinfo *to, struct sockaddr_storage *own)
{
    int       fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof *own;
    bool      ok;

    *own = (struct sockaddr_storage){ 0 };
    if (fd < 0)
        return false;
    ok = connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
         getsockname(fd, (struct sockaddr *)own, &size) == 0;
    close(fd);
    return ok;
}

static void fill(struct iface *iface, const char *name, const struct sockaddr *address)
{
    const socklen_t size = address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                         : sizeof(struct sockaddr_in6);

    snprintf(iface->name, sizeof iface->name, "%s", name);
    memset(&iface->socket_address, 0, sizeof iface->socket_address);
    memcpy(&iface->socket_address, address, size);
    if (address->sa_family == AF_INET)
        ((struct sockaddr_in *)&iface->socket_address)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&iface->socket_address)->sin6_port = 0;
    if (getnameinfo(address, size, iface->address, sizeof iface->address, NULL, 0,
                    NI_NUMERICHOST) != 0)
        iface->address[0] = '\0';
}

static void name_of_address(const struct ifaddrs *all, struct iface *iface)
{
    struct iface one;

    for (; all != NULL; all = all->ifa_next) {
        if (!usable(all))
            continue;
        fill(&one, all->ifa_name, all->ifa_addr);
        if (strcmp(one.address, iface->address) == 0) {
            memcpy(iface->name, one.name, sizeof iface->name);
            return;
        }
    }
}

void iface_list(char *text, size_t size)
{
    struct ifaddrs *all = NULL, *at;
    struct iface    one;
    size_t          used = 0;

    *text = '\0';
    if (getifaddrs(&all) < 0)
        return;
    for (at = all; at != NULL && used < size; at = at->ifa_next) {
        if (!usable(at))
            continue;
        fill(&one, at->ifa_name, at->ifa_addr);
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
                                 one.name, one.address);
    }
    freeifaddrs(all);
}
