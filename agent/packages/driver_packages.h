/* driver_packages.h - which packages of the distribution are the NVIDIA driver
 *
 * Debian has one version in each release, and Ubuntu several of the branch for servers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DRIVER_PACKAGES_H
#define MUSTER_AGENT_DRIVER_PACKAGES_H

#include <stdbool.h>

#include "strlist.h"

enum driver_from {
    DRIVER_FROM_DEBIAN,
    DRIVER_FROM_UBUNTU,
    DRIVER_FROM_UBUNTU_DRIVERS, /* the program ubuntu-drivers chooses */
    DRIVER_FROM_NOWHERE,        /* muster does not know this distribution */
};

struct driver_packages {
    enum driver_from from;
    char             name[80], codename[32]; /* of the distribution */
    const char      *components; /* of Debian: in which components the driver is */
    char             newest[16]; /* of Ubuntu: the version; "": apt knows none */
    struct strlist   wanted;     /* names; empty for ubuntu-drivers, and while newest is "" */
};

/* Fills name, codename, components and from, which is never DRIVER_FROM_UBUNTU_DRIVERS, from the
 * text of os-release(5). */
void driver_packages_read(const char *os_release, struct driver_packages *packages);
/* Stores the highest N of the names nvidia-driver-N-server in text, one per line, or version if
 * that is among them; version NULL: any. "": there is none. */
void driver_packages_newest(const char *text, const char *version, char newest[16]);

/* Chooses for this node, whose kernel is release. It asks apt and changes nothing. version: NULL,
 * or the one that conf wants. The caller clears packages. */
void driver_packages_choose(const char *version, const char *release,
                            struct driver_packages *packages);
void driver_packages_clear(struct driver_packages *packages);

/* Could apt install this package? version, if it is not NULL, gets that of the package. */
bool driver_package_is_known(const char *name, char version[64]);

#endif
