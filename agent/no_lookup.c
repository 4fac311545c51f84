/* no_lookup.c - what static libraries would ask of the C library's shared parts
 *
 * The agent seals and hashes with libcrypto, and connects to addresses with libevent. Both also
 * contain code that looks up names or loads modules, for which a static program would need the
 * node's own C library. The linker sends these calls here (--wrap), and here they fail, but for
 * IPv4 addresses, which libevent's evhttp turns into texts and back, and for NVIDIA's library,
 * which node/nvml.c loads in a process that may die of it. Only the static agent has this.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* What getaddrinfo() gives. */
struct found {
    struct addrinfo    info;
    struct sockaddr_in address;
};

void           *__real_dlopen(const char *file, int mode);
void           *__wrap_dlopen(const char *file, int mode);
int             __wrap_getaddrinfo(const char *name, const char *service,
                                   const struct addrinfo *hints, struct addrinfo **result);
void            __wrap_freeaddrinfo(struct addrinfo *info);
int             __wrap_getnameinfo(const struct sockaddr *address, socklen_t address_size,
                                   char *host, socklen_t host_size, char *service,
                                   socklen_t service_size, int flags);
struct hostent  *__wrap_gethostbyname(const char *name);
struct protoent *__wrap_getprotobynumber(int number);
struct servent  *__wrap_getservbyname(const char *name, const char *protocol);

void *__wrap_dlopen(const char *file, int mode)
{
    return file != NULL && strncmp(file, "libnvidia-ml.", strlen("libnvidia-ml.")) == 0
               ? __real_dlopen(file, mode) : NULL;
}

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **result)
{
    struct in_addr address;
    struct found  *found;

    (void)hints;
    *result = NULL;
    if (name == NULL || inet_pton(AF_INET, name, &address) != 1)
        return EAI_FAIL;
    found = xcalloc(1, sizeof *found);
    found->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(service != NULL ? (uint16_t)strtoul(service, NULL, 10) : 0),
        .sin_addr = address,
    };
    found->info = (struct addrinfo){
        .ai_family = AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_protocol = IPPROTO_TCP,
        .ai_addrlen = sizeof found->address,
        .ai_addr = (struct sockaddr *)&found->address,
    };
    *result = &found->info;
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *info)
{
    free(info);
}

int __wrap_getnameinfo(const struct sockaddr *address, socklen_t address_size, char *host,
                       socklen_t host_size, char *service, socklen_t service_size, int flags)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

    (void)address_size, (void)flags;
    if (address->sa_family != AF_INET || inet_ntop(AF_INET, &v4->sin_addr, host, host_size) == NULL)
        return EAI_FAIL;
    snprintf(service, service_size, "%u", (unsigned)ntohs(v4->sin_port));
    return 0;
}

struct hostent *__wrap_gethostbyname(const char *name)
{
    (void)name;
    return NULL;
}

struct protoent *__wrap_getprotobynumber(int number)
{
    (void)number;
    return NULL;
}

struct servent *__wrap_getservbyname(const char *name, const char *protocol)
{
    (void)name, (void)protocol;
    return NULL;
}
