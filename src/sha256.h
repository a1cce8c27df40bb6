/* SHA-256 (FIPS 180-4): what a cached thing is known by. */
#ifndef VF_SHA256_H
#define VF_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VF_SHA256_BYTES 32
#define VF_SHA256_DIGITS 64 /* hexadecimal */

/* A plain value: a copy goes its own way from there. */
struct vf_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* added so far */
    uint8_t block[64];
};

void vf_sha256_begin(struct vf_sha256 *hash);
void vf_sha256_add(struct vf_sha256 *hash, const void *data, size_t bytes);

/* Adding ends with this. */
void vf_sha256_end(struct vf_sha256 *hash, uint8_t digest[VF_SHA256_BYTES]);

/* The digest in lower-case hexadecimal. */
void vf_sha256_text(const uint8_t digest[VF_SHA256_BYTES], char text[VF_SHA256_DIGITS + 1]);

#endif
