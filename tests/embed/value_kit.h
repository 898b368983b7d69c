/* value_kit.h -- cmocka's comparisons, for values: the values are printed as
 * the words that they are, and may be structs (ALQ_STRICT_VALUES) */
#ifndef ALQI_EMBED_VALUE_KIT_H
#define ALQI_EMBED_VALUE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/value.h>

#define assert_same(a, b) assert_int_equal(alq_bits(a), alq_bits(b))
#define assert_not_same(a, b) assert_int_not_equal(alq_bits(a), alq_bits(b))

#endif
