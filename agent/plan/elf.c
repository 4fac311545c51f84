/* elf.c - see elf.h
 *
 * It trusts nothing in the file: it reads everything by pread() into buffers of known sizes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

#define SEGMENTS_MAX 64
#define ENTRIES_MAX  4096 /* in the dynamic section */
#define NAME_BYTES   256  /* bytes of a library's name, with NUL */

#if UINTPTR_MAX > UINT32_MAX
#define CLASS_HERE ELFCLASS64
#else
#define CLASS_HERE ELFCLASS32
#endif

struct elf {
    int        fd;
    ElfW(Phdr) segment[SEGMENTS_MAX];
    size_t     segments;
};

static bool   read_segments(struct elf *elf);
static bool   read_at(const struct elf *elf, void *into, size_t size, uint64_t at);
static size_t read_dynamic(const struct elf *elf, ElfW(Dyn) **entries);
static bool   find_strings(const struct elf *elf, const ElfW(Dyn) *entry, size_t entries,
                           uint64_t *at);

bool elf_needed(const char *path, struct strlist *needed)
{
    struct elf elf = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) };
    ElfW(Dyn) *entry = NULL;
    size_t     entries = 0, i;
    uint64_t   strings;
    char       name[NAME_BYTES];
    ssize_t    size;
    bool       is_elf = elf.fd >= 0 && read_segments(&elf);

    if (is_elf)
        entries = read_dynamic(&elf, &entry); /* no entries if it is static */
    if (entries > 0 && find_strings(&elf, entry, entries, &strings))
        for (i = 0; i < entries && entry[i].d_tag != DT_NULL; i++) {
            if (entry[i].d_tag != DT_NEEDED)
                continue;
            size = pread(elf.fd, name, sizeof name, (off_t)(strings + entry[i].d_un.d_val));
            if (size > 0 && memchr(name, '\0', (size_t)size) != NULL)
                strlist_add(needed, name);
        }
    free(entry);
    if (elf.fd >= 0)
        close(elf.fd);
    return is_elf;
}

static bool read_segments(struct elf *elf)
{
    const uint16_t one = 1;
    const int      order = *(const unsigned char *)&one == 1 ? ELFDATA2LSB : ELFDATA2MSB;
    ElfW(Ehdr)     head;

    if (!read_at(elf, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != CLASS_HERE || head.e_ident[EI_DATA] != order ||
        head.e_phentsize != sizeof *elf->segment || head.e_phnum > SEGMENTS_MAX)
        return false;
    elf->segments = head.e_phnum;
    return read_at(elf, elf->segment, elf->segments * sizeof *elf->segment, head.e_phoff);
}

static bool read_at(const struct elf *elf, void *into, size_t size, uint64_t at)
{
    return at <= INT64_MAX && pread(elf->fd, into, size, (off_t)at) == (ssize_t)size;
}

/* Returns the number of entries; the caller frees *entries. */
static size_t read_dynamic(const struct elf *elf, ElfW(Dyn) **entries)
{
    size_t i, count;

    for (i = 0; i < elf->segments && elf->segment[i].p_type != PT_DYNAMIC; i++)
        ;
    if (i == elf->segments)
        return 0;
    count = elf->segment[i].p_filesz / sizeof **entries;
    if (count == 0 || count > ENTRIES_MAX)
        return 0;
    *entries = xcalloc(count, sizeof **entries);
    return read_at(elf, *entries, count * sizeof **entries, elf->segment[i].p_offset) ? count : 0;
}

/* Finds the names in the file: the dynamic section has their address in memory. */
static bool find_strings(const struct elf *elf, const ElfW(Dyn) *entry, size_t entries,
                         uint64_t *at)
{
    size_t i, j;

    for (i = 0; i < entries && entry[i].d_tag != DT_STRTAB; i++)
        if (entry[i].d_tag == DT_NULL)
            return false;
    for (j = 0; i < entries && j < elf->segments; j++) {
        const ElfW(Phdr) *segment = &elf->segment[j];
        uint64_t          inside = entry[i].d_un.d_ptr - segment->p_vaddr;

        if (segment->p_type != PT_LOAD || inside >= segment->p_filesz)
            continue;
        *at = segment->p_offset + inside;
        return true;
    }
    return false;
}
