#ifndef VF_VERSION_H
#define VF_VERSION_H

#define VF_VERSION "0.1.0"

#endif
