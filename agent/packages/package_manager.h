/* package_manager.h - apt or dnf: what is installed, and the changes that install more
 *
 * Only missing packages are installed, and nothing is upgraded: a driver whose library is
 * newer than the loaded module works only after a reboot.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PACKAGE_MANAGER_H
#define MUSTER_AGENT_PACKAGE_MANAGER_H

#include <stdbool.h>

#include "journal/changes.h"
#include "strlist.h"

enum package_manager { PACKAGES_APT, PACKAGES_DNF, PACKAGES_NONE };

#define PACKAGES_ASK_S 60.0

enum package_manager package_manager_find(void);
bool                 package_is_installed(enum package_manager manager, const char *name);
/* Adds the words of a command line up to "install", which is not among them. */
void packages_add_words(enum package_manager manager, struct strlist *argv);

/* Add changes, for apt alone: an interrupted installation is finished, and the lists of packages
 * are fetched. why: for people. */
void packages_add_repair(enum package_manager manager, struct changes *changes);
void packages_add_update(enum package_manager manager, struct changes *changes, const char *why);
/* Returns the names with blanks between them, which the caller frees. */
char *packages_join(const struct strlist *names);
/* Adds the installation of these packages, which undo removes. */
void packages_add_install(enum package_manager manager, struct changes *changes,
                          const struct strlist *missing, const char *why);

#endif
