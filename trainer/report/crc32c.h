/* crc32c.h - the checksum CRC-32C (Castagnoli), of iSCSI and ext4
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CRC32C_H
#define MUSTER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of these bytes appended to the bytes whose checksum is before. before: 0
 * for the first bytes. */
uint32_t crc32c(uint32_t before, const void *bytes, size_t size);

#endif
