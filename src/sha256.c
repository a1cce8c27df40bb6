#include "sha256.h"

#include <string.h>

static const uint32_t first_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, int right)
{
    return x >> right | x << (32 - right);
}

static void fill_schedule(uint32_t w[64], const uint8_t block[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8]; /* a to h of the standard */
    fill_schedule(w, block);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t e = s[4], a = s[0];
        const uint32_t t1 = s[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                            ((e & s[5]) ^ (~e & s[6])) + round_constant[i] + w[i];
        const uint32_t t2 =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void vf_sha256_begin(struct vf_sha256 *hash)
{
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, first_state, sizeof first_state);
}

void vf_sha256_add(struct vf_sha256 *hash, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    size_t held = (size_t)(hash->bytes % sizeof hash->block);
    hash->bytes += bytes;
    while (bytes > 0) {
        const size_t room = sizeof hash->block - held, part = bytes < room ? bytes : room;
        memcpy(hash->block + held, from, part);
        held += part;
        from += part;
        bytes -= part;
        if (held == sizeof hash->block) {
            mix(hash->state, hash->block);
            held = 0;
        }
    }
}

void vf_sha256_end(struct vf_sha256 *hash, uint8_t digest[VF_SHA256_BYTES])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = 8 * hash->bytes;
    const size_t held = (size_t)(hash->bytes % 64);
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    vf_sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
    vf_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < VF_SHA256_BYTES; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void vf_sha256_text(const uint8_t digest[VF_SHA256_BYTES], char text[VF_SHA256_DIGITS + 1])
{
    static const char digit[] = "0123456789abcdef";
    for (int i = 0; i < VF_SHA256_BYTES; i++) {
        text[2 * i] = digit[digest[i] >> 4];
        text[2 * i + 1] = digit[digest[i] & 15];
    }
    text[VF_SHA256_DIGITS] = '\0';
}
