#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* Where the decimal that starts here ends; NULL when there is none. strtod alone would take "0x1x1" for
 * hexadecimal. */
static const char *decimal_end(const char *text)
{
    const char *start = text + (*text == '+' || *text == '-');
    const char *at = skip_digits(start);
    bool any = at > start;
    if (*at == '.') {
        const char *fraction = skip_digits(at + 1);
        any = any || fraction > at + 1;
        at = fraction;
    }
    if (!any)
        return NULL;
    if (*at == 'e' || *at == 'E') {
        const char *digits = at + 1 + (at[1] == '+' || at[1] == '-');
        if (is_digit(*digits))
            at = skip_digits(digits);
    }
    return at;
}

const char *vf_number_read(const char *text, double *value)
{
    char copy[1200]; /* every double, written out, has fewer digits */
    const char *end = decimal_end(text);
    if (end == NULL || (size_t)(end - text) >= sizeof copy)
        return NULL;
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    *value = strtod(copy, NULL);
    return end;
}

double vf_number_alone(const char *text)
{
    static const char blanks[] = " \t\r\n";
    double value;
    const char *end = vf_number_read(text + strspn(text, blanks), &value);
    return end != NULL && end[strspn(end, blanks)] == '\0' ? value : 0;
}

const char *vf_number_read_whole(const char *text, long *value)
{
    const char *end = skip_digits(text);
    if (end == text || end - text > 18)
        return NULL;
    *value = 0;
    for (const char *at = text; at < end; at++)
        *value = *value * 10 + (*at - '0');
    return end;
}

double vf_unit_nanometres(const char *unit)
{
    static const struct {
        const char *name;
        double nanometres;
    } units[] = {{"A", 0.1}, {"nm", 1}, {"um", 1e3}, {"mm", 1e6}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].nanometres;
    return 0;
}

void vf_number_text(char text[VF_NUMBER_TEXT], double value)
{
    double back;
    if (value == floor(value) && fabs(value) < 1e15) {
        snprintf(text, VF_NUMBER_TEXT, "%.0f", value + 0.0); /* 100 rather than 1e+02 */
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, VF_NUMBER_TEXT, "%.*g", digits, value);
        if (vf_number_read(text, &back) != NULL && back == value)
            return;
    }
}
