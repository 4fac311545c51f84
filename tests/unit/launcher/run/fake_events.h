/* fake_events.h - the events of a run, of which a test sees the last one
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FAKE_EVENTS_H
#define MUSTER_FAKE_EVENTS_H

extern char last_event[200]; /* its name, text and own keys */

#endif
