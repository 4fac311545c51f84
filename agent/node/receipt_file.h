/* receipt_file.h - the receipt that muster bootstrap leaves on a node: see bootstrap/receipt.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECEIPT_FILE_H
#define MUSTER_AGENT_RECEIPT_FILE_H

#include <jansson.h>

#define RECEIPT_DIR       "/var/lib/muster"
#define RECEIPT_NAME      "receipt.json"
#define RECEIPT_BYTES_MAX (256u << 10)
#define RECEIPT_FACTS_MAX 32 /* facts that HELLO carries */
#define RECEIPT_FACT_MAX  128

/* Returns 16 hex digits: equal facts have equal digits. */
json_t *receipt_fingerprint(const json_t *facts);

/* Returns {"fingerprint":"...", "facts":{...}} for HELLO, from the file; NULL: there is no
 * readable file. path: NULL is the usual one. Facts that are too long are left out. */
json_t *receipt_read(const char *path);

#endif
