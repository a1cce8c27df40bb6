/* What is suggested for a word that is none of the choices. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "filters/filter.h"
#include "src/suggest.h"

static void expect(const char *word, const char *choices, const char *text)
{
    char got[80];
    struct vf_suggestion s;
    vf_suggestion_begin(&s, word, strlen(word));
    vf_suggestion_consider_choices(&s, choices);
    vf_suggestion_text(&s, "", got, sizeof got);
    cr_expect_str_eq(got, text, "%s: got '%s' instead of '%s'", word, got, text);
}

Test(suggest, one_mistake_of_each_kind)
{
    expect("gausian", "gaussian|gradient", "; did you mean 'gaussian'?");   /* one letter less */
    expect("gausssian", "gaussian|gradient", "; did you mean 'gaussian'?"); /* one more */
    expect("gradiemt", "gaussian|gradient", "; did you mean 'gradient'?");  /* another */
    expect("gradeint", "gaussian|gradient", "; did you mean 'gradient'?");  /* two swapped */
    expect("Gaussian", "gaussian|gradient", "; did you mean 'gaussian'?");  /* case */
    expect("gauss", "gaussian|gradient", "; did you mean 'gaussian'?");     /* only begun */
    expect("edd", "and|ced|eed", "; did you mean 'eed'?");
}

Test(suggest, the_nearest_wins)
{
    expect("mirro", "micro|mirror", "; did you mean 'micro'?");
    expect("mirrr", "micro|mirror|nearest", "; did you mean 'mirror'?");
}

Test(suggest, far_words_are_not_suggested)
{
    expect("zebra", "gaussian|gradient|and", "");
    expect("x", "y|z", "");
    expect("", "a|b", "");
    expect("foo", "dog|mean", "");
    expect("word", "", "");
    expect("2nsd", "auto|pN|Nsd", "");
}

/* What other programs call a filter. */
Test(suggest, filters)
{
    static const char *const cases[][2] = {
        {"gausian", "gaussian"},
        {"box", "mean"},
        {"uniform_filter", "mean"},
        {"GaussianBlur", "gaussian"},
        {"unsharp_mask", "unsharp"},
        {"laplace", "laplacian"},
        {"LoG", "laplacian"},
        {"filter2D", "convolve"},
        {"difference_of_gaussians", "dog"},
        {"anisotropic-diffusion", "perona-malik"},
        {"speckle_reducing_anisotropic_diffusion", "srad"},
        {"bilateral", NULL},
        {"boxes", NULL},
        {"|", NULL},
        {"_", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[80] = "", got[80];
        struct vf_suggestion s;
        vf_suggestion_begin(&s, cases[i][0], strlen(cases[i][0]));
        vf_suggestion_consider_filters(&s);
        if (cases[i][1] != NULL)
            snprintf(expected, sizeof expected, "; did you mean '%s'?", cases[i][1]);
        cr_expect_str_eq(vf_suggestion_text(&s, "", got, sizeof got), expected, "%s: %s", cases[i][0], got);
    }
}

/* A word that two filters are known as would lead to one of them only; one with other letters than words are
 * compared by, to none. */
Test(suggest, words_that_filters_are_known_as_are_of_one)
{
    for (int a = 0; vf_filters[a] != NULL; a++) {
        const char *words = vf_filters[a]->known_as;
        cr_expect(words == NULL || words[strspn(words, "abcdefghijklmnopqrstuvwxyz0123456789|")] == '\0',
                  "%s", words);
        for (const char *at = vf_filters[a]->known_as; at != NULL && *at != '\0';) {
            const size_t length = strcspn(at, "|");
            cr_expect_null(vf_filter_by_name(at, length), "%.*s is a filter, and what %s is known as",
                           (int)length, at, vf_filters[a]->name);
            for (int b = 0; b < a; b++)
                for (const char *other = vf_filters[b]->known_as; other != NULL && *other != '\0';) {
                    const size_t is = strcspn(other, "|");
                    cr_expect(is != length || memcmp(at, other, length) != 0, "%.*s: %s and %s", (int)length,
                              at, vf_filters[b]->name, vf_filters[a]->name);
                    other += is + (other[is] == '|');
                }
            at += length + (at[length] == '|');
        }
    }
}

Test(suggest, words_of_any_length_are_safe)
{
    char word[300];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    expect(word, "gaussian|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "");
    expect("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
           "; did you mean 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'?");
}

Test(suggest, what_stands_before_the_word)
{
    char text[80], small[16];
    struct vf_suggestion s;
    vf_suggestion_begin(&s, "boundry", 7);
    vf_suggestion_consider(&s, "boundary", 8);
    cr_expect_str_eq(vf_suggestion_text(&s, "--", text, sizeof text), "; did you mean '--boundary'?");
    cr_expect_eq(strlen(vf_suggestion_text(&s, "--", small, sizeof small)), sizeof small - 1);
}
