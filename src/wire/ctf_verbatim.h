/* ctf_verbatim.h -- writing an allocation exactly as another trace has it
 *
 * For tools that copy traces.  Real traces hold allocations without any frame
 * and with 0 samples; alqi_ctf_write_alloc does not write those, because some
 * of the real tools fail on them. */
#ifndef ALQI_WIRE_CTF_VERBATIM_H
#define ALQI_WIRE_CTF_VERBATIM_H

#include "wire/ctf.h"

/* As alqi_ctf_write_alloc, but an empty stack stays empty and n_samples may
 * be 0. */
enum alq_status alqi_ctf_write_alloc_verbatim(struct alqi_ctf_writer *writer,
                                              uint64_t time_us, uint64_t length,
                                              uint64_t n_samples,
                                              enum alqi_ctf_source source,
                                              const uint64_t *codes,
                                              uint32_t n_codes, uint64_t *id);

#endif
