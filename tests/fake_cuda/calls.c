#include "calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long long fake_setting(const char *name, long long otherwise)
{
    const char *const text = getenv(name);
    return text && *text ? atoll(text) : otherwise;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int calls;

/* The file is opened for each line: processes that were forked off write to the same one. */
static void write_down(int number, const char *name)
{
    const char *const path = getenv("FAKE_CUDA_LOG");
    FILE *const file = path && *path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    const char *const version = strstr(name, "_v2");
    const int length = version ? (int)(version - name) : (int)strlen(name);
    if (number > 0)
        fprintf(file, "%d %.*s\n", number, length, name);
    else
        fprintf(file, "- %.*s\n", length, name);
    fclose(file);
}

int fake_calls(void)
{
    return calls;
}

int fake_call(const char *name, int likely)
{
    pthread_mutex_lock(&lock);
    const int number = likely == FAKE_NEVER_FAILS ? 0 : ++calls;
    write_down(number, name);
    pthread_mutex_unlock(&lock);
    const long long failing = fake_setting("FAKE_CUDA_FAIL", 0);
    const int fails =
        failing > 0 && (number == failing || (number > failing && fake_setting("FAKE_CUDA_STAYS", 0)));
    return fails ? (int)fake_setting("FAKE_CUDA_FAIL_WITH", likely) : 0;
}
