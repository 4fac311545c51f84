/* page_host.h - is a request for the page meant for us?
 *
 * A web site may give its own name the address of this machine, and let its script read what
 * answers there (DNS rebinding). Then the browser names that site as the Host.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_HOST_H
#define MUSTER_PAGE_HOST_H

#include <stdbool.h>

/* Is that header of a request an address in numbers, localhost, or machine, the name of this
 * machine, or its first part? host: with or without a port; NULL: the request has none. */
bool page_host_is_ours(const char *host, const char *machine);

#endif
