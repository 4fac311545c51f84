/* fuzz_cloud.c - any bytes as what a metadata service says, as a token, and as the URL of one
 *
 * The first byte chooses the cloud.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cloud/cloud.h"
#include "xalloc.h"

#define NOW 1795335600 /* 2026-11-22T08:20:00Z */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "alibaba", "aws", "gcp", "azure", "tencent",
                                         "volcengine" };
    struct cloud_notice notice;
    struct cloud        by_url;
    struct error        err;
    char                word[CLOUD_FIRST_MAX + 1], room[200], *body;
    enum cloud_says     says;

    if (size == 0)
        return 0;
    body = xmalloc(size); /* of that size, so that ASan sees its end; but ended by NUL */
    memcpy(body, data + 1, size - 1);
    body[size - 1] = '\0';
    says = cloud_read(cloud_by_name(names[data[0] % 6]), 200, body, size - 1, "vm1", NOW,
                      &notice, &err);
    if (says == CLOUD_GOES && notice.at_s != 0 &&
        (notice.at_s <= NOW || notice.at_s > NOW + CLOUD_LATEST_S))
        abort();
    if (cloud_read_first(body, size - 1, word) == 0 && strpbrk(word, "\r\n: ") != NULL)
        abort();
    if (cloud_by_url(&by_url, body, room, sizeof room, &err) == 0 &&
        (by_url.path[0] != '/' || by_url.port < 1 || strpbrk(by_url.path, "\r\n ") != NULL))
        abort();
    free(body);
    return 0;
}
