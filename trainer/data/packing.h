/* packing.h - documents of all sizes in samples of one size
 *
 * Best fit: from the longest document to the shortest, each goes to the sample that has the least
 * room for it. The result depends on the sizes alone, so all ranks come to the same one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PACKING_H
#define MUSTER_PACKING_H

#include <stddef.h>
#include <stdint.h>

#define PACKING_MAX ((size_t)1 << 30) /* documents */

struct packing {
    uint32_t *document; /* the numbers of all documents, sample by sample */
    size_t   *first;    /* sample i has document[first[i]] up to before document[first[i + 1]] */
    size_t    samples;
};

/* Packs documents of 1 to room tokens; those of 0 are left out. Within a sample they are in the
 * order of their numbers. Free it with packing_clear(). */
void packing_make(struct packing *packing, const uint32_t *sizes, size_t count, uint32_t room);
void packing_clear(struct packing *packing);

#endif
