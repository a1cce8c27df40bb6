#ifndef VF_UTF8_H
#define VF_UTF8_H

/* Bytes of the UTF-8 sequence at `text`; 0 when it is none (RFC 3629: no overlong forms, no surrogates). */
int vf_utf8_length(const unsigned char *text);

#endif
