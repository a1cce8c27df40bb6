/* 16-bit floating point (IEEE 754 binary16), as files hold it; in memory it is float32. */
#ifndef VF_HALF_H
#define VF_HALF_H

#include <stddef.h>
#include <stdint.h>

/* Exact. */
float vf_half_to_float(uint16_t half);

/* Rounded to nearest, ties to even; finite values beyond the largest, 65504, become that. */
uint16_t vf_half_from_float(float value);

/* In place: `count` halves at the start of the array become floats, which need twice the room. */
void vf_halves_to_floats(void *array, size_t count);

#endif
