/* tag_name.h -- what blocks of a tag are called             [snapshot.h] */
#ifndef ALQI_HEAP_TAG_NAME_H
#define ALQI_HEAP_TAG_NAME_H

#include "heap/layout.h"

enum { ALQI_HEAP_TAGS = 256 };

/* NULL: nobody has named it.  Any thread. */
const char *alqi_heap_tag_name(unsigned tag);

/* Names a tag of the program's, for all heaps; the text stays where it is. */
void alqi_heap_tag_name_set(unsigned tag, const char *name);

#endif
