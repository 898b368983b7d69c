/* account.h -- words of a task that live, as samples have it
 *
 * A frame that limits live words has an account.  A sampled block is charged to
 * the account of the frame in which it was allocated, and so to those of the
 * frames around it, until it is dead: also after its frame was closed, for the
 * sake of those.
 *
 * .inv.account  An account's words are those of the blocks that were charged to
 *               it, or to one within it, and not taken off; each of them, and
 *               each account within it, holds a reference.
 *
 * Any thread may take a block off. */
#ifndef ALQI_LIMIT_ACCOUNT_H
#define ALQI_LIMIT_ACCOUNT_H

#include <stdint.h>

struct alqi_limit_account;

/* With one reference; holds one to `outer`, which may be NULL.  NULL: no
 * memory. */
struct alqi_limit_account *
alqi_limit_account_new(struct alqi_limit_account *outer);
struct alqi_limit_account *
alqi_limit_account_keep(struct alqi_limit_account *a);
void alqi_limit_account_drop(struct alqi_limit_account *a);

uint64_t alqi_limit_account_words(const struct alqi_limit_account *a);

/* A block that stands for so many words; NULL: no memory, it is not charged. */
struct alqi_limit_charge;

struct alqi_limit_charge *alqi_limit_charge_new(struct alqi_limit_account *a,
                                                uint64_t words);
void alqi_limit_charge_end(struct alqi_limit_charge *c);

/* Words between samples that are enough for a limit of so many: an error of
 * 5 % at the limit, if the interval does not become too short or too long. */
uint64_t alqi_limit_live_interval(uint64_t live_words);

#endif
