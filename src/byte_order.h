/* Numbers as files store them, the least byte first or last. */
#ifndef VF_BYTE_ORDER_H
#define VF_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of `size` bytes, at most 8. */
uint64_t vf_number_of_bytes(const unsigned char *bytes, int size, bool big_endian);
void vf_number_to_bytes(uint64_t number, unsigned char *bytes, int size, bool big_endian);

/* Reverses the bytes of each of `count` elements of `size` bytes: 1, 2, 4 or 8. */
void vf_swap_bytes(void *data, size_t count, size_t size);

#endif
