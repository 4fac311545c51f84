/* version.c - see version.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/version.h"

const char train_version[13 + 24] = "muster-train " PACKAGE_VERSION;
