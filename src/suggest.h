/* The word that a user probably meant. */
#ifndef VF_SUGGEST_H
#define VF_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* Fields are private; the words are borrowed. */
struct vf_suggestion {
    const char *word, *best;
    size_t length, best_length;
    int distance;
};

/* Looks for words like the `length` bytes at `word`. */
void vf_suggestion_begin(struct vf_suggestion *s, const char *word, size_t length);
void vf_suggestion_consider(struct vf_suggestion *s, const char *candidate, size_t length);

/* Considers each of the words in "a|b|c" (vf_choice_is_form: not the forms). */
void vf_suggestion_consider_choices(struct vf_suggestion *s, const char *choices);

/* Considers a word that others call by any of "a|b|c", in small letters without '-' and '_'; NULL: by none.
 */
void vf_suggestion_consider_known(struct vf_suggestion *s, const char *candidate, const char *known_as);

/* Considers every filter, by its name and by what others call it. */
void vf_suggestion_consider_filters(struct vf_suggestion *s);

/* Considers the options that are parameters of filters in other programs, by what these call them. */
void vf_suggestion_consider_options(struct vf_suggestion *s);

/* Writes "; did you mean 'WORD'?" with `before` (such as "--") in front of the word, or nothing when no word
 * was near: one letter or a third of them wrong, case aside, or the beginning of it. Returns
 * `text`. */
const char *vf_suggestion_text(const struct vf_suggestion *s, const char *before, char *text, size_t room);

/* Who knows a way of filtering by name looks for a filter of that name: writes "; did you mean
 * 'gradient:method=sobel'?" for "sobel". False: no filter has such a choice. */
bool vf_suggest_choice(const char *name, size_t length, char *text, size_t room);

#endif
