/* Decimal numbers as users write them and machines read them: never hexadecimal, inf or nan. The program
 * never calls setlocale, so that the decimal point is one. */
#ifndef VF_NUMBER_H
#define VF_NUMBER_H

#include <stdbool.h>

/* Room for any double in its shortest form, with the final zero byte. */
#define VF_NUMBER_TEXT 32

/* Reads [+-] digits [. digits] [e [+-] digits] at the start of `text`: where it ends, or NULL when none is
 * there. Too large a number reads as infinity: range checks catch it. */
const char *vf_number_read(const char *text, double *value);

/* The number that a file's text is, but for blanks around it; 0 where it is none, as with a decimal comma. */
double vf_number_alone(const char *text);

/* The same as vf_number_read for an unsigned whole number of at most 18 digits. */
const char *vf_number_read_whole(const char *text, long *value);

/* Nanometres in one "nm", "um" or "mm", the units that spacings have, or "A", an angstrom; 0 for another
 * word. */
double vf_unit_nanometres(const char *unit);

/* The shortest decimal that reads back as `value`, which is finite. */
void vf_number_text(char text[VF_NUMBER_TEXT], double value);

#endif
