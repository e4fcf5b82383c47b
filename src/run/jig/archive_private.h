/* archive_private.h - the header block of a member (ustar). */
#pragma once

#include <stdint.h>

enum { ARCHIVE_BLOCK = 512 };

struct archive_head {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char sum[8];
    char type;
    char target[100];
    char magic[6], version[2];
    char owner[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char rest[12];
};

_Static_assert(sizeof(struct archive_head) == ARCHIVE_BLOCK, "a head is one block");

/* The sum of all bytes of the header, with the checksum field taken as spaces. */
uint32_t archive_sum(const struct archive_head *head);
