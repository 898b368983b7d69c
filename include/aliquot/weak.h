/* weak.h -- weak arrays and ephemerons           [OCaml Weak, Ephemeron]
 *
 * A weak array is a block whose values do not keep what they refer to.  An
 * ephemeron has keys, which do not either, and data, which live as long as the
 * ephemeron and all of its keys do: also when the data lead back to a key, as
 * what is remembered about an object often does.
 *
 * Both are values like others and live as long as they are reachable; alq_field
 * and alq_store are not for them.  A place of theirs is empty (ALQ_NULL) or
 * holds an integer, which never dies, or a block.
 *
 * When a block has died the places that held it become empty, all of them at
 * the same time as far as a program can see, and with an ephemeron's key its
 * data.  That happens in the minor collection, if the block and what it was
 * placed in since the last one are young, or at the end of a marking: a block
 * that is dead when alq_gc_full_major begins is gone when that returns.  Until
 * then a place may be read: what alq_weak_get returns lives on, as long as it
 * is held.  Data are not cleared by a minor collection as long as the keys
 * live.
 *
 * A block with a finaliser (final.h) is in its places until that has been found
 * due for the last time: while alq_gc_finalise calls its function they are
 * full, while alq_gc_finalise_last does they are empty.
 *
 * OCaml's names:
 *   Weak.create length set get get_copy check fill blit      alq_weak_...
 *   Ephemeron.K1 K2 Kn, Obj.Ephemeron, with n_keys = 1, 2, n  alq_ephe_...
 *
 * With a wrong argument a call that returns a value returns ALQ_NULL and leaves
 * ALQ_EINVAL in the domain, as allocation does. */
#ifndef ALIQUOT_WEAK_H
#define ALIQUOT_WEAK_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of an ephemeron or places of a weak array, at most. */
#define ALQ_WEAK_LENGTH_MAX (ALQ_WOSIZE_MAX - 2)

/* ---- weak arrays -------------------------------------------------------- */

/* alq_weak_create -- a weak array of n empty places
 *
 * n        At most ALQ_WEAK_LENGTH_MAX.
 *
 * Returns  The array; or ALQ_NULL and a status: ALQ_EINVAL, ALQ_ENOMEM.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Weak.create. */
ALQ_API alq_value alq_weak_create(struct alq_domain *d, size_t n);

/* alq_weak_length -- how many places an array has
 *
 * Returns  Their number; 0 if it is no weak array.
 * Threads  Any.
 * GC       No effect.
 * Source   OCaml Weak.length. */
ALQ_API size_t alq_weak_length(alq_value weak);

/* alq_weak_set -- place i holds v, or is empty
 *
 * v        ALQ_NULL empties the place.
 *
 * Errors   ALQ_EINVAL  d is NULL, weak no weak array, or i not below its length
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Weak.set. */
ALQ_API enum alq_status alq_weak_set(struct alq_domain *d, alq_value weak,
                                     size_t i, alq_value v);

/* alq_weak_get -- what place i holds
 *
 * Returns  The value, which is reachable from now on as long as it is held;
 *          ALQ_NULL if the place is empty, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Weak.get. */
ALQ_API alq_value alq_weak_get(struct alq_domain *d, alq_value weak, size_t i);

/* alq_weak_get_copy -- a copy of what place i holds
 *
 * The block itself stays as dead as it is; so a table of values can be searched
 * without keeping what does not match.
 *
 * Returns  A new block with the same fields; an integer, a custom block or a
 *          static one as it is.  ALQ_NULL if the place is empty, or with a
 *          status: ALQ_EINVAL, ALQ_ENOMEM.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Weak.get_copy. */
ALQ_API alq_value alq_weak_get_copy(struct alq_domain *d, alq_value weak,
                                    size_t i);

/* alq_weak_check -- whether place i is full
 *
 * Says nothing about the next moment: the value stays as dead as it is.
 *
 * Returns  1 if it is; 0 if not, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Weak.check. */
ALQ_API int alq_weak_check(struct alq_domain *d, alq_value weak, size_t i);

/* alq_weak_fill -- n places from i on hold v, or are empty
 *
 * v        ALQ_NULL empties the places.
 *
 * Errors   ALQ_EINVAL  d is NULL, weak no weak array, or i + n above its length
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Weak.fill. */
ALQ_API enum alq_status alq_weak_fill(struct alq_domain *d, alq_value weak,
                                      size_t i, size_t n, alq_value v);

/* alq_weak_blit -- copies n places, which may overlap; none becomes reachable
 *
 * Errors   ALQ_EINVAL  d is NULL, or one of the two is no weak array or has
 *                      fewer than n places from there on
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Weak.blit. */
ALQ_API enum alq_status alq_weak_blit(struct alq_domain *d, alq_value from,
                                      size_t from_i, alq_value to, size_t to_i,
                                      size_t n);

/* ---- ephemerons --------------------------------------------------------- */

/* alq_ephe_create -- an ephemeron whose n_keys keys and data are empty
 *
 * n_keys   1 to ALQ_WEAK_LENGTH_MAX.
 *
 * Returns  The ephemeron; or ALQ_NULL and a status: ALQ_EINVAL, ALQ_ENOMEM.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Ephemeron.K1.create, Obj.Ephemeron.create. */
ALQ_API alq_value alq_ephe_create(struct alq_domain *d, size_t n_keys);

/* alq_ephe_make -- an ephemeron that is full
 *
 * keys     n_keys slots of roots: the call may move what they hold.
 * data     Need not be in a root.
 *
 * Returns  The ephemeron; or ALQ_NULL and a status: ALQ_EINVAL, ALQ_ENOMEM.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Ephemeron.K1.make, K2.make, Kn.make. */
ALQ_API alq_value alq_ephe_make(struct alq_domain *d, size_t n_keys,
                                const alq_value *keys, alq_value data);

/* alq_ephe_query -- the data, if the keys are these
 *
 * keys     n_keys values, compared as words.
 *
 * Returns  The data, as alq_ephe_get_data; ALQ_NULL if they are empty, or a key
 *          or the number of keys differs, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.query, K2.query, Kn.query. */
ALQ_API alq_value alq_ephe_query(struct alq_domain *d, alq_value ephe,
                                 size_t n_keys, const alq_value *keys);

/* alq_ephe_length -- how many keys an ephemeron has
 *
 * Returns  Their number; 0 if it is no ephemeron.
 * Threads  Any.
 * GC       No effect.
 * Source   OCaml Obj.Ephemeron.length. */
ALQ_API size_t alq_ephe_length(alq_value ephe);

/* alq_ephe_set_key -- key i is v
 *
 * v        ALQ_NULL empties the key, and leaves the data.
 *
 * Errors   ALQ_EINVAL  d is NULL, ephe no ephemeron, or it has no key i
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.set_key. */
ALQ_API enum alq_status alq_ephe_set_key(struct alq_domain *d, alq_value ephe,
                                         size_t i, alq_value v);

/* alq_ephe_unset_key -- key i is empty; the data stay, if the other keys live
 *
 * Errors   ALQ_EINVAL  d is NULL, ephe no ephemeron, or it has no key i
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.unset_key. */
ALQ_API enum alq_status alq_ephe_unset_key(struct alq_domain *d, alq_value ephe,
                                           size_t i);

/* alq_ephe_get_key -- key i
 *
 * Returns  The key, reachable as long as it is held; ALQ_NULL if it is empty,
 *          or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.get_key. */
ALQ_API alq_value alq_ephe_get_key(struct alq_domain *d, alq_value ephe,
                                   size_t i);

/* alq_ephe_get_key_copy -- a copy of key i
 *
 * Returns  As alq_weak_get_copy.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Ephemeron.K1.get_key_copy. */
ALQ_API alq_value alq_ephe_get_key_copy(struct alq_domain *d, alq_value ephe,
                                        size_t i);

/* alq_ephe_check_key -- whether key i is full
 *
 * Returns  1 if it is; 0 if not, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.check_key. */
ALQ_API int alq_ephe_check_key(struct alq_domain *d, alq_value ephe, size_t i);

/* alq_ephe_blit_key -- copies n keys, which may overlap
 *
 * Errors   ALQ_EINVAL  d is NULL, or one of the two is no ephemeron or has
 *                      fewer than n keys from there on
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.blit_key, Obj.Ephemeron.blit_key. */
ALQ_API enum alq_status alq_ephe_blit_key(struct alq_domain *d, alq_value from,
                                          size_t from_i, alq_value to,
                                          size_t to_i, size_t n);

/* alq_ephe_set_data -- the data are v
 *
 * v        ALQ_NULL empties them.
 *
 * Errors   ALQ_EINVAL  d is NULL, or ephe no ephemeron
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.set_data. */
ALQ_API enum alq_status alq_ephe_set_data(struct alq_domain *d, alq_value ephe,
                                          alq_value v);

/* alq_ephe_unset_data -- the data are empty
 *
 * Errors   ALQ_EINVAL  d is NULL, or ephe no ephemeron
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.unset_data. */
ALQ_API enum alq_status alq_ephe_unset_data(struct alq_domain *d,
                                            alq_value ephe);

/* alq_ephe_get_data -- the data
 *
 * Returns  The data, reachable as long as they are held; ALQ_NULL if they are
 *          empty, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.get_data. */
ALQ_API alq_value alq_ephe_get_data(struct alq_domain *d, alq_value ephe);

/* alq_ephe_get_data_copy -- a copy of the data
 *
 * Returns  As alq_weak_get_copy.
 * Threads  The domain's.
 * GC       May collect.
 * Source   OCaml Ephemeron.K1.get_data_copy. */
ALQ_API alq_value alq_ephe_get_data_copy(struct alq_domain *d, alq_value ephe);

/* alq_ephe_check_data -- whether the data are full
 *
 * Returns  1 if they are; 0 if not, or with a status (ALQ_EINVAL).
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.check_data. */
ALQ_API int alq_ephe_check_data(struct alq_domain *d, alq_value ephe);

/* alq_ephe_blit_data -- the data of one become those of another as well
 *
 * Errors   ALQ_EINVAL  d is NULL, or one of the two is no ephemeron
 * Threads  The domain's.
 * GC       Does not collect.
 * Source   OCaml Ephemeron.K1.blit_data. */
ALQ_API enum alq_status alq_ephe_blit_data(struct alq_domain *d, alq_value from,
                                           alq_value to);

#ifdef __cplusplus
}
#endif
#endif
