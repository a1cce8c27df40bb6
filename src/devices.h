/* volfilter devices: the GPUs that were found, and what filtering on them takes. */
#ifndef VF_DEVICES_H
#define VF_DEVICES_H

#include <stdbool.h>
#include <stdio.h>

/* Prints a few lines or one JSON object. What is missing, from a driver upwards, is told as a finding. */
void vf_devices_print(bool as_json, FILE *to);

#endif
