/* disk_choices.h - the disks that could be the data disk, for a user who has to name it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DISK_CHOICES_H
#define MUSTER_AGENT_DISK_CHOICES_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/disks.h"

/* Adds a note for each disk with a file system that is mounted nowhere or at place: what it is,
 * what is in its root directory, and the line of [data] that names it. Nothing is written to the
 * disks. */
void disk_choices_note(const struct bootstrap *b, struct finding *finding,
                       const struct disks *disks, const char *mountinfo, const char *place);

/* Returns the line of [data] that names this one of the disks, such as "label = data"; NULL: none
 * tells it from another one. The caller frees it. */
char *disk_choice_line(const struct disks *disks, const struct disk *disk);

#endif
