/* ctf_dump.h -- events as the text of memtrace's dump tool [spec memtrace 16]
 */
#ifndef ALQI_WIRE_CTF_DUMP_H
#define ALQI_WIRE_CTF_DUMP_H

#include "wire/ctf.h"

/* Takes n bytes of text; false stops the dump. */
typedef bool alqi_ctf_text_fn(void *arg, const char *text, size_t n);

/* One line for an allocation, promotion or collection, nothing for a
 * location.  A code that was never announced prints as $code, in decimal, as
 * one without entries does.  False when put stopped. */
bool alqi_ctf_dump_event(const struct alqi_ctf_reader *reader,
                         const struct alqi_ctf_event *event,
                         alqi_ctf_text_fn *put, void *put_arg);

#endif
