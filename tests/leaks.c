/* What the sanitizer is told. Criterion looks through long texts as each test's process begins, whose length
 * would be taken each time. A leak of a test fails the run: Criterion minds what signal ends a test's
 * process, but not its exit status. Criterion's own process, which has no BXFI_MAP, is not looked at: a
 * thread there may still hold what it was told of the last test's end. */
#include <stdlib.h>

const char *__asan_default_options(void);
int __lsan_is_turned_off(void);

const char *__asan_default_options(void)
{
    return "abort_on_error=1:intercept_strstr=0";
}

int __lsan_is_turned_off(void)
{
    return getenv("BXFI_MAP") == NULL;
}
