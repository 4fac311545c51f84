/* apt_sources.h - where apt gets packages of Debian, and what adds components to that
 *
 * The user's files stay as they are. What we add is a copy of their entries with other components,
 * so mirror, options and keys are the user's: apt refuses two entries of one mirror that differ in
 * these.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_APT_SOURCES_H
#define MUSTER_AGENT_APT_SOURCES_H

#include <stdbool.h>

#include "journal/changes.h"

/* Returns the entries of the distribution's component main in text, as they are but with those of
 * components (separated by blanks) that they lack; "": there are none. codename: "bookworm", of
 * which there are also bookworm-updates and bookworm-security. is_stanzas: text is of a .sources
 * file (deb822), else of a .list. The caller frees it. */
char *apt_sources_with(const char *text, bool is_stanzas, const char *codename,
                       const char *components);

/* Adds muster-driver.list, or .sources, of the entries of this node, if any lacks a component.
 * -1 with err: a file cannot be read. */
int apt_sources_add(struct changes *changes, const char *codename, const char *components,
                    const char *why, struct error *err);

#endif
