/* crc32.h - the CRC-32 of zlib, PNG and java.util.zip (reflected polynomial edb88320). Pure. */
#ifndef LATCH_MANIFEST_CRC32_H
#define LATCH_MANIFEST_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *p, size_t n);

#endif
