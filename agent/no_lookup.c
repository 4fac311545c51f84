/* no_lookup.c - what static libraries would ask of the C library's shared parts
 *
 * The agent seals and hashes with libcrypto, and connects to addresses with libevent. Both also
 * contain code that looks up names or loads modules, for which a static program would need the
 * node's own C library. The linker sends these calls here (--wrap), and here they fail, but for
 * NVIDIA's library, which doctor/nvml.c loads in a process that may die of it. Only the static
 * agent has this.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <netdb.h>
#include <stddef.h>
#include <string.h>

void           *__real_dlopen(const char *file, int mode);
void           *__wrap_dlopen(const char *file, int mode);
int             __wrap_getaddrinfo(const char *name, const char *service,
                                   const struct addrinfo *hints, struct addrinfo **result);
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
    (void)name, (void)service, (void)hints;
    *result = NULL;
    return EAI_FAIL;
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
