#include "suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "filters/filter.h"
#include "size.h"
#include "value.h"

/* Longer words are no typing mistakes of ours. */
#define MAX_WORD 32

static int letter(char c)
{
    return tolower((unsigned char)c);
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each costing 1.
 * Source: Damerau 1964, in the restricted form. */
static int distance_of(const char *a, size_t na, const char *b, size_t nb)
{
    int row[3][MAX_WORD + 1];
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = letter(a[i - 1]) == letter(b[j - 1]);
            now[j] = vf_smaller(vf_smaller(last[j], now[j - 1]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) &&
                letter(a[i - 2]) == letter(b[j - 1]))
                now[j] = vf_smaller(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

void vf_suggestion_begin(struct vf_suggestion *s, const char *word, size_t length)
{
    *s = (struct vf_suggestion){.word = word, .length = length, .distance = MAX_WORD};
}

void vf_suggestion_consider(struct vf_suggestion *s, const char *candidate, size_t length)
{
    if (s->length > MAX_WORD || length > MAX_WORD)
        return;
    int distance = distance_of(s->word, s->length, candidate, length);
    if (s->length >= 2 && s->length < length && strncasecmp(s->word, candidate, s->length) == 0)
        distance = vf_smaller(distance, 1);
    int allowed = s->length < 6 ? 1 : (int)s->length / 3;
    if (distance >= s->distance || distance > allowed || distance >= (int)s->length)
        return;
    s->distance = distance;
    s->best = candidate;
    s->best_length = length;
}

void vf_suggestion_consider_choices(struct vf_suggestion *s, const char *choices)
{
    while (*choices != '\0') {
        size_t length = strcspn(choices, "|");
        if (!vf_choice_is_form(choices, length))
            vf_suggestion_consider(s, choices, length);
        choices += length + (choices[length] == '|');
    }
}

/* Whether a word is one of "a|b|c", its case and what parts words in it aside. */
static bool is_one_of(const char *word, size_t length, const char *names)
{
    char bare[2 * MAX_WORD];
    size_t n = 0;
    for (size_t i = 0; i < length && n < sizeof bare; i++)
        if (word[i] != '_' && word[i] != '-')
            bare[n++] = (char)letter(word[i]);
    while (*names != '\0') {
        const size_t each = strcspn(names, "|");
        if (each == n && memcmp(names, bare, n) == 0)
            return true;
        names += each + (names[each] == '|');
    }
    return false;
}

void vf_suggestion_consider_known(struct vf_suggestion *s, const char *candidate, const char *known_as)
{
    vf_suggestion_consider(s, candidate, strlen(candidate));
    if (known_as == NULL || !is_one_of(s->word, s->length, known_as))
        return;
    s->best = candidate;
    s->best_length = strlen(candidate);
    s->distance = 0;
}

void vf_suggestion_consider_filters(struct vf_suggestion *s)
{
    for (const struct vf_filter *const *filter = vf_filters; *filter != NULL; filter++)
        vf_suggestion_consider_known(s, (*filter)->name, (*filter)->known_as);
}

void vf_suggestion_consider_options(struct vf_suggestion *s)
{
    static const struct {
        const char *option, *known_as;
    } options[] = {
        {"boundary", "mode|border|bordertype|bordermode|borders|cval|pad|padding|edge|edges|extend"},
        {"spacing", "voxelsize|pixelsize|voxelspacing|sampling|resolution"},
        {"dtype", "type|outputtype|pixeltype|datatype"},
        {"slices", "2d|slicewise|perslice"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        vf_suggestion_consider_known(s, options[i].option, options[i].known_as);
}

const char *vf_suggestion_text(const struct vf_suggestion *s, const char *before, char *text, size_t room)
{
    text[0] = '\0';
    if (s->best != NULL)
        snprintf(text, room, "; did you mean '%s%.*s'?", before, (int)s->best_length, s->best);
    return text;
}

bool vf_suggest_choice(const char *name, size_t length, char *text, size_t room)
{
    char word[32];
    if (length >= sizeof word)
        return false;
    memcpy(word, name, length);
    word[length] = '\0';
    for (const struct vf_filter *const *filter = vf_filters; *filter != NULL; filter++)
        for (int i = 0; i < (*filter)->param_count; i++) {
            const struct vf_param *param = &(*filter)->params[i];
            if (param->kind != VF_PARAM_CHOICE || vf_choice_index(param->choices, word) < 0)
                continue;
            snprintf(text, room, "; did you mean '%s:%s=%s'?", (*filter)->name, param->name, word);
            return true;
        }
    return false;
}
