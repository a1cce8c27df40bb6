/* Sanitizers take many times as long: with them a case takes turns where without it takes all combinations.
 */
#ifndef VF_TESTS_SANITIZED_H
#define VF_TESTS_SANITIZED_H

#include <stdbool.h>

/* gcc's word for it, and clang's. */
#if !defined(__SANITIZE_ADDRESS__) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
enum { UNDER_SANITIZERS = 1 };
#else
enum { UNDER_SANITIZERS = 0 };
#endif

/* Under sanitizers of combinations that are alike two in three, the same ones each time. */
static inline bool left_out(void)
{
    static unsigned number;
    return UNDER_SANITIZERS && number++ % 3 != 0;
}

#endif
