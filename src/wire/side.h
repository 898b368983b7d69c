/* side.h -- what Aliquot's traces carry in side records   [doc/design/wire.md]
 *
 * A side record is a location record whose code no stack uses; every memtrace
 * tool reads over it in silence.  Codes with the top bits 101010 (bit 63 to
 * 58) are ours; bits 57..56 give the kind, the rest the number.
 *
 *   MOVED   number = id of the block that the next allocation continues:
 *           realloc (or mremap) freed it, which is the last event before, and
 *           made the new one.  No entries.  In the file the number is LAST,
 *           which stands for the object that was collected last in the stream:
 *           ids do not compress.  Reader and writer put one for the other.
 *           With the number REBORN it says only that realloc made the next
 *           allocation (wire.md .inv.reborn); MOVED with an id may follow.
 *   THREAD  number = thread index: the allocations that follow in the stream
 *           were made by that thread.  No entries.
 *   RATE    number = rate index: the allocations that follow in the stream
 *           were sampled at that rate.  No entries.  Before the first one,
 *           the trace's own rate, which is the largest of all.  An allocation
 *           of rate r carries n_samples * (trace's rate / r), rounded, so that
 *           tools that know one rate estimate right.  (A program that goes
 *           finer than its own trace began, <aliquot/control.h>, breaks
 *           that: each then carries 1 at least.)
 *   TEXT    number = running number: one entry whose function name is a line
 *           "key a=b c=d"; see below.
 *
 * Text lines (values are percent-encoded: space, '%', '=' and control bytes):
 *   thread   index= tid= name=
 *   module   id= start= end= bias= reuse= build_id= path=  (hex addresses)
 *   symbols  id= note=                     (what a module's symbols lack)
 *   jit      note=        (what the names of code made at run time lack)
 *   rate     index= per_word=              (once, before its first use)
 *   rss      bytes=                        (resident, at the record's time)
 *   mark     name=           (a phase begins at the record's time: marks.md)
 *   reach    at=  |  class= holder= from= ids=  (what leads to blocks: reach.h)
 *   holder   id= in= most= name=     (a step of ways to blocks: wire/reach.h)
 *   snapshot file= us= (of the heap, beside the trace: who holds its blocks;
 *            the time since 1970 that the file itself tells)
 *   process  index= pid= parent= start_us= host= program=    (of a trace made
 *            of several; its thread, cmdline and end lines have process=index)
 *   gone     process=                      (it ended: what it held went too)
 *   end      samples= frees= dropped_nested= dropped_nomem= dropped_space=
 *            dropped_cap= ... rss_most= signal= ended=exit|exec|killed|running
 *            (once, last record, at the time of the end if it is known;
 *            rss_most: bytes, as the kernel has it, 0: unknown; signal: that
 *            ended it, 0: unknown or none)
 *   cmdline  arg0= ...                                   (cut at 4000 bytes) */
#ifndef ALQI_WIRE_SIDE_H
#define ALQI_WIRE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_SIDE_PREFIX ((uint64_t)0x2A << 58)
#define ALQI_SIDE_MASK ((uint64_t)0x3F << 58)
#define ALQI_SIDE_KIND_MASK ((uint64_t)3 << 56)
#define ALQI_SIDE_MOVED ((uint64_t)0 << 56)
#define ALQI_SIDE_THREAD ((uint64_t)1 << 56)
#define ALQI_SIDE_TEXT ((uint64_t)2 << 56)
#define ALQI_SIDE_RATE ((uint64_t)3 << 56)
#define ALQI_SIDE_NUMBER_MASK (((uint64_t)1 << 56) - 1)
#define ALQI_SIDE_LAST ALQI_SIDE_NUMBER_MASK
#define ALQI_SIDE_REBORN (ALQI_SIDE_NUMBER_MASK - 1)
#define ALQI_SIDE_MOVED_LAST                                                   \
    (ALQI_SIDE_PREFIX | ALQI_SIDE_MOVED | ALQI_SIDE_LAST)

/* Of marks: a name with its NUL; those that one process writes. */
enum { ALQI_SIDE_MARK_BYTES = 128, ALQI_SIDE_MARKS_MAX = 4096 };

static inline bool
alqi_side_is(uint64_t code)
{
    return (code & ALQI_SIDE_MASK) == ALQI_SIDE_PREFIX;
}

/* Appends " key=value" (the first word of a line has no key) percent-encoded;
 * returns the new length, or n_used unchanged when it does not fit. */
size_t alqi_side_put(char *line, size_t capacity, size_t n_used,
                     const char *key, const char *value);

/* A text of less than capacity bytes, cut, if it is too long, between two
 * characters of UTF-8.  False: it is empty.  Async-signal-safe. */
bool alqi_side_cut(char *out, size_t capacity, const char *text);
/* A phase's name as a record has it: cut so. */
bool alqi_side_mark_name(char out[ALQI_SIDE_MARK_BYTES], const char *name);

/* A line in the making, in memory of the caller's; n is 0 at first. */
struct alqi_side_line {
    char *text;
    size_t capacity;
    size_t n; /* bytes so far */
};

#define ALQI_SIDE_LINE_IN(array)                                               \
    {                                                                          \
        .text = (array), .capacity = sizeof(array)                             \
    }

/* Each appends a value as alqi_side_put does: a text, a decimal, a hexadecimal
 * number, a real one with all its digits. */
void alqi_side_text(struct alqi_side_line *line, const char *key,
                    const char *value);
void alqi_side_number(struct alqi_side_line *line, const char *key,
                      uint64_t value);
void alqi_side_hex(struct alqi_side_line *line, const char *key,
                   uint64_t value);
void alqi_side_real(struct alqi_side_line *line, const char *key, double value);

/* Finds key (NULL: the first word) in line and decodes its value into out
 * (NUL-terminated, cut to fit); false when the key is not there. */
bool alqi_side_get(const char *line, const char *key, char *out,
                   size_t capacity);

/* The value as a number to the base; a real one.  0 without the key. */
uint64_t alqi_side_get_number(const char *line, const char *key, int base);
double alqi_side_get_real(const char *line, const char *key);

#endif
