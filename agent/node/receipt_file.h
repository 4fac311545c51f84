/* receipt_file.h - the receipt that muster bootstrap leaves on a node: see bootstrap/receipt.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECEIPT_FILE_H
#define MUSTER_AGENT_RECEIPT_FILE_H

#include <jansson.h>

#define RECEIPT_DIR       "/var/lib/muster"
#define RECEIPT_NAME      "receipt.json"
#define RECEIPT_BYTES_MAX (256u << 10)
#define RECEIPT_FACTS_MAX 32 /* of those that HELLO brings along */
#define RECEIPT_FACT_MAX  128

/* 16 hex digits of the facts: equal facts have equal ones. */
json_t *receipt_fingerprint(const json_t *facts);

/* {"fingerprint":"...", "facts":{...}} for HELLO, from the file; NULL: there is none that can be
 * read. path: NULL is the usual one. What is too long is left out. */
json_t *receipt_read(const char *path);

#endif
