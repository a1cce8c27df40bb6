/* SHA-256: the standard's examples, and data of any length in parts of any length. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/sha256.h"

static void expect_digest(const void *data, size_t bytes, size_t part, const char *expected)
{
    struct vf_sha256 hash;
    uint8_t digest[VF_SHA256_BYTES];
    char text[VF_SHA256_DIGITS + 1];
    vf_sha256_begin(&hash);
    for (size_t at = 0; at < bytes; at += part)
        vf_sha256_add(&hash, (const char *)data + at, bytes - at < part ? bytes - at : part);
    vf_sha256_end(&hash, digest);
    vf_sha256_text(digest, text);
    cr_assert_str_eq(text, expected, "%zu bytes by %zu", bytes, part);
}

/* The examples of FIPS 180-4 (NIST's "SHA256.pdf" and the long one of "SHA_All.pdf"). */
Test(sha256, gives_the_standards_examples)
{
    static char many[1000000];
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    memset(many, 'a', sizeof many);
    expect_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_digest("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_digest(two, strlen(two), 64, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_digest(many, sizeof many, sizeof many,
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths round the ends of a block and of its padding; the digests are coreutils' sha256sum of that many
 * 'x'. */
Test(sha256, is_right_at_the_ends_of_blocks_however_the_bytes_come)
{
    static const struct {
        size_t bytes;
        const char *digest;
    } cases[] = {
        {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
        {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
        {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
    };
    char text[128];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t part = 1; part <= cases[i].bytes; part++)
            expect_digest(text, cases[i].bytes, part, cases[i].digest);
}
