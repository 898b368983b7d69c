/* tag_name.c -- names of tags, for censuses and snapshots
 *
 * .pair.tag_name  alqi_heap_tag_name_set() -> alqi_heap_tag_name(): the name's
 *                 bytes. */
#include "heap/hosted.h"
#include "heap/tag_name.h"

/* Atomic: .pair.tag_name.  Those of the program, then those that are fixed. */
static const char *names[ALQI_HEAP_TAGS] = {
#if ALQI_HOSTS_OCAML
    [ALQI_HEAP_TAG_FORCING] = "lazy",
    [ALQI_HEAP_TAG_CONT] = "continuation",
#endif
    [ALQI_HEAP_TAG_LAZY] = "lazy",
    [ALQI_HEAP_TAG_CLOSURE] = "closure",
    [248] = "object",
    [250] = "forward",
    [ALQ_TAG_ABSTRACT] = "abstract",
    [ALQ_TAG_STRING] = "string",
    [ALQ_TAG_DOUBLE] = "double",
    [ALQ_TAG_DOUBLE_ARRAY] = "double array",
    [ALQ_TAG_CUSTOM] = "custom",
};

const char *
alqi_heap_tag_name(unsigned tag)
{
    return __atomic_load_n(&names[tag], __ATOMIC_ACQUIRE); /* .pair.tag_name */
}

/* .pair.tag_name */
void
alqi_heap_tag_name_set(unsigned tag, const char *name)
{
    __atomic_store_n(&names[tag], name, __ATOMIC_RELEASE);
}
