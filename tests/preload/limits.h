/* limits.h -- what the tests of limits under the preload share */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdint.h>

#include <aliquot/aliquot.h>

extern int n_wrong; /* in this part */
extern int n_failed;

void check(int is_right, const char *what, int line);
void part(const char *name);

#define CHECK(x) check((x), #x, __LINE__)

/* Limits with words alone. */
struct alq_limits limits_of_words(uint64_t words);

uint32_t draw(uint32_t below); /* seeded */

/* One of the requests that there are, of so many bytes: the block, or NULL. */
void *request(unsigned kind, size_t n_bytes);
enum { REQUESTS = 9 };
/* The words it counts. */
uint64_t request_words(unsigned kind, size_t n_bytes);

/* At that rate, whole stacks. */
struct alq_profile *profile_start(double rate);
void profile_end(struct alq_profile *p);

extern unsigned n_tasks; /* of a statistical test */

/* samples.c */
void samples_parts(void);

/* leaves.c */
void leaves_parts(void);

#endif
