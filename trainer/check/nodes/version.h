/* version.h - the version of muster-train
 *
 * It is a separate object, so that a test can change it in a copy of the program.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAIN_VERSION_H
#define MUSTER_TRAIN_VERSION_H

extern const char train_version[13 + 24]; /* "muster-train 0.1.0" */
#define TRAIN_VERSION (train_version + 13)

#endif
