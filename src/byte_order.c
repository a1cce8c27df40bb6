#include "byte_order.h"

#include <string.h>

#include "vector_clones.h"

uint64_t vf_number_of_bytes(const unsigned char *bytes, int size, bool big_endian)
{
    uint64_t number = 0;
    for (int i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * (big_endian ? size - 1 - i : i);
    return number;
}

void vf_number_to_bytes(uint64_t number, unsigned char *bytes, int size, bool big_endian)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> 8 * (big_endian ? size - 1 - i : i));
}

#define SWAP(bits)                                                       \
    static void swap_##bits(char *data, size_t count)                    \
    {                                                                    \
        for (size_t i = 0; i < count; i++) {                             \
            uint##bits##_t element;                                      \
            memcpy(&element, data + i * sizeof element, sizeof element); \
            element = __builtin_bswap##bits(element);                    \
            memcpy(data + i * sizeof element, &element, sizeof element); \
        }                                                                \
    }
SWAP(16)
SWAP(32)
SWAP(64)

VF_VECTOR_CLONES
void vf_swap_bytes(void *data, size_t count, size_t size)
{
    if (size == 2)
        swap_16(data, count);
    else if (size == 4)
        swap_32(data, count);
    else if (size == 8)
        swap_64(data, count);
}
