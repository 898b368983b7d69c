/* decode.h -- a message to a value
 *
 *   small   a piece of the minor heap, taken at once; nothing collects until
 *           the end.  ALQI_MARSHAL_SMALL_WORDS at the most
 *   large   each block in the major heap.  Before a block is made collections
 *           may go on: then each block made has its header, its fields are
 *           ALQ_UNIT or made, and it hangs from the first one, a root
 *
 * No recursion: blocks whose fields are not all read stand on a stack, by
 * their numbers.  Nothing that the message claims is believed: for each field,
 * byte and double that it announces there must be as many bytes left as these
 * take at the least, before memory is taken. */
#ifndef ALQI_MARSHAL_DECODE_H
#define ALQI_MARSHAL_DECODE_H

#include "heap/state.h"
#include "marshal/in.h"

/* Words that a message with this header may make, and takes at the most. */
uint64_t alqi_marshal_words_asked(const struct alq_marshal_header *h,
                                  const struct alq_unmarshal_options *options);

/* Reads the data behind a header, which is h; the limits hold, and 0 is none.
 * out is not read.  Failing: *out is ALQ_NULL, *fault says why. */
enum alq_status alqi_marshal_decode(struct alqi_domain *d,
                                    const unsigned char *data,
                                    const struct alq_marshal_header *h,
                                    const struct alq_unmarshal_options *options,
                                    struct alq_marshal_fault *fault,
                                    alq_value *out);

#endif
