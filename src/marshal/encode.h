/* encode.h -- a value to a message
 *
 * Nothing here collects or polls, so blocks stay where they are and the table
 * of those that were met is by address.  No recursion: what is left of the
 * blocks begun stands on a stack of field ranges. */
#ifndef ALQI_MARSHAL_ENCODE_H
#define ALQI_MARSHAL_ENCODE_H

#include "marshal/out.h"

/* Writes the message of v to `out`, which was begun for it; false: it failed,
 * and out says why. */
bool alqi_marshal_encode_nogc(alq_value v,
                              const struct alq_marshal_options *options,
                              struct alq_marshal_out *out);

#endif
