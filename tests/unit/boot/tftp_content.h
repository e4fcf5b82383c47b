/* tftp_content.h - a content for tests of TFTP: each byte depends on its offset. */
#pragma once

#include "boot/tftp/tftp.h"

static inline uint8_t content_byte(uint64_t offset)
{
    return (uint8_t)(offset * 7 + (offset >> 8) + (offset >> 16));
}

/* `self` is the number of bytes that can be read. */
static inline bool content_read(void *self, uint64_t offset, void *buffer, uint32_t size)
{
    const uint64_t *limit = self;
    if (offset + size > *limit)
        return false;
    for (uint32_t i = 0; i < size; i++)
        ((uint8_t *)buffer)[i] = content_byte(offset + i);
    return true;
}
