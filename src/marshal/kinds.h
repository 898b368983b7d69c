/* kinds.h -- kinds of custom blocks: the three of OCaml, and finding one */
#ifndef ALQI_MARSHAL_KINDS_H
#define ALQI_MARSHAL_KINDS_H

#include "marshal/in.h"

/* NULL: neither among `kinds` (ends in NULL, or is NULL) nor of the three. */
const struct alq_custom_ops *
alqi_marshal_kind_find(const struct alq_custom_ops *const *kinds,
                       const char *name);

#endif
