/* fuzz_metadata.c - any bytes as the answer of a metadata service
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cloud/metadata.h"
#include "xalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct metadata_reply *reply = xcalloc(1, sizeof *reply);
    char                  *bytes = xmalloc(size + 1); /* of that size, so that ASan sees its end */
    int                    part, whole;

    memcpy(bytes, data, size);
    bytes = xrealloc(bytes, size > 0 ? size : 1);
    /* In two parts: what the first says must hold once there is more. */
    part = metadata_parse(bytes, size / 2, 0, reply);
    whole = metadata_parse(bytes, size, 1, reply);
    if ((part != 0 && whole != part) || whole == 0)
        abort();
    if (whole > 0 && (reply->status < 100 || reply->size > METADATA_BODY ||
                      reply->body[reply->size] != '\0'))
        abort();
    free(bytes);
    free(reply);
    return 0;
}
