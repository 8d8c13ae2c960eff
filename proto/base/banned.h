/* banned.h - included before every file (Makefile): calls that have no place here. */
#ifndef LATCH_PROTO_BASE_BANNED_H
#define LATCH_PROTO_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef alloca /* a macro: poisoning it as such is an error */
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atoll gmtime localtime     \
    ctime asctime tmpnam mktemp alloca

#endif
