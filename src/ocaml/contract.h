/* contract.h -- what OCaml 5.3's runtime and the variant's share know of each
 * other                                                 [doc/design/ocaml.md]
 *
 * OCaml's runtime is a library of some fifty members.  The variant takes the
 * place of ten of them (memory, minor_gc, major_gc, shared_heap, memprof, weak,
 * finalise, gc_ctrl, globroots, domain) and leaves the rest as installed.  This
 * header has, in words of our own, the types that both sides read and the
 * functions of the members that stay.  What the variant defines is declared
 * where it is defined: its caller is code that was compiled elsewhere.
 *
 * A value is a word of the heap's kind: integers, headers, tags and sizes are
 * the same (value.h). */
#ifndef ALQI_OCAML_CONTRACT_H
#define ALQI_OCAML_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/value.h>

/* Symbols that members of OCaml's library look for. */
#define ALQI_OCAML_API __attribute__((visibility("default")))

typedef alq_value value;

#define ALQI_OCAML_UNIT ((value)1)
#define ALQI_OCAML_FALSE ((value)1)
#define ALQI_OCAML_TRUE ((value)3)
#define ALQI_OCAML_NONE ((value)1)

static inline value
alqi_ocaml_int(intptr_t n)
{
    return ((value)n << 1) + 1;
}

/* A count; OCaml's largest integer at most. */
static inline value
alqi_ocaml_count(uint64_t n)
{
    return alqi_ocaml_int(n > INTPTR_MAX / 2 ? INTPTR_MAX / 2 : (intptr_t)n);
}

static inline intptr_t
alqi_ocaml_int_of(value v)
{
    return (intptr_t)v >> 1;
}

static inline value
alqi_ocaml_bool(bool b)
{
    return b ? ALQI_OCAML_TRUE : ALQI_OCAML_FALSE;
}

/* The result of code that may raise. */
struct caml_result {
    int is_exception;
    value data; /* the value, or the exception */
};

#define ALQI_OCAML_RESULT_UNIT                                                 \
    ((struct caml_result){.is_exception = 0, .data = ALQI_OCAML_UNIT})

/* Variables of C code that are roots while it runs: a chain by Caml_state's
 * local_roots, the innermost first. */
struct caml_roots_block {
    struct caml_roots_block *next;
    intptr_t n_tables;
    intptr_t n_items; /* of each table */
    value *tables[5];
};

/* What a custom block's first field points to; members may be NULL. */
struct caml_custom_operations {
    const char *identifier;
    void (*finalize)(value v);
    int (*compare)(value a, value b);
    intptr_t (*hash)(value v);
    void (*serialize)(value v, uintptr_t *bytes_32, uintptr_t *bytes_64);
    uintptr_t (*deserialize)(void *to);
    int (*compare_ext)(value a, value b);
    const void *fixed_length;
};

/* A place in a program, of a frame or of what is inlined there. */
struct caml_loc_info {
    int loc_valid;
    int loc_is_raise;
    char *loc_filename;
    char *loc_defname;
    int loc_start_lnum;
    int loc_start_chr;
    int loc_end_lnum;
    int loc_end_chr;
    int loc_end_offset;
    int loc_is_inlined;
};

/* A function that is shown a root: its value, and where it is. */
typedef void caml_scanning_action(void *data, value v, volatile value *slot);

/* Tables that C code of the members that stay appends to; minor collections
 * empty them. */
struct caml_table {
    char *base;
    char *end;
    char *threshold;
    char *ptr;   /* the next entry is written here ... */
    char *limit; /* ... as long as it is below */
    size_t size;
    size_t reserve;
};

struct caml_custom_elt {
    value block;    /* young */
    uintptr_t mem;  /* bytes, or a share of a resource, that it holds */
    uintptr_t most; /* of the resource; 0: mem are bytes */
};

struct caml_minor_tables {
    struct caml_table major_ref; /* value *: old fields with young values */
    struct caml_table ephe_ref;  /* unused: weak.c is the variant's */
    struct caml_table custom;    /* struct caml_custom_elt */
};

/* What native code and C code of OCaml reach by Caml_state.  The first two
 * words are those of a domain of the heap (.inv.head); a word each, in this
 * order. */
#define ALQI_OCAML_HEAD(X)                                                     \
    X(value *, young_start)                                                    \
    X(value *, young_end)                                                      \
    X(value *, young_trigger)                                                  \
    X(void *, current_stack)                                                   \
    X(void *, exn_handler)                                                     \
    X(intptr_t, action_pending)                                                \
    X(void *, c_stack)                                                         \
    X(void *, stack_cache)                                                     \
    X(value *, gc_regs_buckets)                                                \
    X(value *, gc_regs)                                                        \
    X(struct caml_minor_tables *, minor_tables)                                \
    X(void *, mark_stack)                                                      \
    X(uintptr_t, marking_done)                                                 \
    X(uintptr_t, sweeping_done)                                                \
    X(uintptr_t, allocated_words)                                              \
    X(uintptr_t, allocated_words_direct)                                       \
    X(uintptr_t, swept_words)                                                  \
    X(uintptr_t, major_slice_epoch)                                            \
    X(void *, local_roots)                                                     \
    X(void *, ephe_info)                                                       \
    X(void *, final_info)                                                      \
    X(intptr_t, backtrace_pos)                                                 \
    X(intptr_t, backtrace_active)                                              \
    X(void *, backtrace_buffer)                                                \
    X(value, backtrace_last_exn)                                               \
    X(intptr_t, compare_unordered)                                             \
    X(uintptr_t, oo_next_id_local)                                             \
    X(uintptr_t, requested_major_slice)                                        \
    X(uintptr_t, requested_global_major_slice)                                 \
    X(uintptr_t, requested_minor_gc)                                           \
    X(uintptr_t, requested_external_interrupt)                                 \
    X(intptr_t, parser_trace)                                                  \
    X(size_t, minor_heap_wsz)                                                  \
    X(void *, shared_heap)                                                     \
    X(intptr_t, id)                                                            \
    X(intptr_t, unique_id)                                                     \
    X(value, dls_root)                                                         \
    X(double, extra_heap_resources)                                            \
    X(double, extra_heap_resources_minor)                                      \
    X(uintptr_t, dependent_size)                                               \
    X(uintptr_t, dependent_allocated)                                          \
    X(intptr_t, slice_target)                                                  \
    X(intptr_t, slice_budget)                                                  \
    X(intptr_t, major_work_done_between_slices)                                \
    X(void *, extern_state)                                                    \
    X(void *, intern_state)                                                    \
    X(uintptr_t, stat_minor_words)                                             \
    X(uintptr_t, stat_promoted_words)                                          \
    X(uintptr_t, stat_major_words)                                             \
    X(intptr_t, stat_forced_major_collections)                                 \
    X(uintptr_t, stat_blocks_marked)                                           \
    X(intptr_t, inside_stw_handler)                                            \
    X(intptr_t, trap_sp_off)                                                   \
    X(intptr_t, trap_barrier_off)                                              \
    X(int64_t, trap_barrier_block)                                             \
    X(void *, external_raise)                                                  \
    X(void *, memprof)                                                         \
    X(value *, memprof_young_trigger)

enum { ALQI_OCAML_EXTRA_WORDS = 64 };

#define ALQI_OCAML_FIELD(type, name) _Alignas(8) type name;
struct caml_domain_state {
    char *young_limit;
    char *young_ptr;
    ALQI_OCAML_HEAD(ALQI_OCAML_FIELD)
    value extra_params[ALQI_OCAML_EXTRA_WORDS];
};
#undef ALQI_OCAML_FIELD

/* What OCAMLRUNPARAM says; startup_aux fills it. */
struct caml_params {
    const char *exe_name;
    const char *section_table;
    size_t section_table_size;
    const char *cds_file;
    uintptr_t parser_trace;
    uintptr_t trace_level;
    uintptr_t runtime_events_log_wsize;
    uintptr_t verify_heap;
    uintptr_t print_magic;
    uintptr_t print_config;
    uintptr_t init_percent_free;
    uintptr_t init_minor_heap_wsz;
    uintptr_t init_custom_major_ratio;
    uintptr_t init_custom_minor_ratio;
    uintptr_t init_custom_minor_max_bsz;
    uintptr_t init_max_stack_wsz;
    uintptr_t backtrace_enabled;
    uintptr_t runtime_warnings;
    uintptr_t cleanup_on_exit;
    uintptr_t event_trace;
    uintptr_t max_domains;
};

/* ---- of the members that stay ------------------------------------------- */

extern const struct caml_params *const caml_params;
extern uintptr_t caml_custom_major_ratio;
extern uintptr_t caml_custom_minor_ratio;
extern uintptr_t caml_custom_minor_max_bsz;
extern uintptr_t caml_verb_gc; /* atomic */
extern uintptr_t caml_runtime_warnings;

void caml_do_roots(caml_scanning_action *action, int flags, void *data,
                   struct caml_domain_state *d, int do_final_val);
/* What scans the roots of other parts than the runtime; NULL: nothing.  Here it
 * is compared alone. */
extern void (*caml_scan_roots_hook)(void);
/* Signals that came and were not handled yet. */
int caml_check_pending_signals(void);
struct caml_result caml_do_pending_actions_res(void);
struct caml_result caml_process_pending_actions_res(void);
void caml_set_action_pending(struct caml_domain_state *d);
void caml_init_signal_handling(void);
struct caml_result caml_callback_res(value closure, value arg);
value caml_ml_mutex_lock(value mutex);
value caml_ml_condition_broadcast(value condition);
int caml_mutex_unlock(void *mutex);
void *caml_init_signal_stack(void);
void caml_free_signal_stack(void *stack);
void caml_free_stack(void *stack);
void caml_free_backtrace_buffer(void *buffer);
void caml_free_gc_regs_buckets(value *buckets);
void caml_free_extern_state(void);
void caml_free_intern_state(void);
void caml_raise(value exn) __attribute__((noreturn));
void caml_raise_out_of_memory(void) __attribute__((noreturn));
void caml_invalid_argument(const char *text) __attribute__((noreturn));
void caml_failwith(const char *text) __attribute__((noreturn));
void caml_failwith_value(value text) __attribute__((noreturn));
void caml_raise_sys_error(value text) __attribute__((noreturn));
void caml_fatal_error(const char *format, ...) __attribute__((noreturn));
extern int caml_debugger_in_use __attribute__((weak));
value caml_copy_double(double x);
value caml_floatarray_fill(value array, value from, value n, value v);
value caml_copy_string(const char *text);
value caml_alloc_tuple(uintptr_t n);
value caml_alloc_small(uintptr_t wosize, unsigned tag);
value caml_alloc(uintptr_t wosize, unsigned tag);
value caml_alloc_custom(const struct caml_custom_operations *operations,
                        uintptr_t bytes, uintptr_t mem, uintptr_t most);
value caml_alloc_sprintf(const char *format, ...);
value caml_alloc_some(value v);
void **caml_alloc_stack_cache(void);
uintptr_t caml_get_init_stack_wsize(void);
void *caml_alloc_main_stack(uintptr_t wsize);
void caml_change_max_stack_size(uintptr_t wsize);
void caml_stat_free(void *block);
void caml_init_gc_stats(uintptr_t max_domains);
void caml_record_backtraces(int on);
/* The frames of the code that runs, innermost first, into *slots, which is
 * resized.  `index` from 0: of the blocks that are being allocated. */
size_t caml_get_callstack(size_t slots_max, void ***slots, size_t *slots_bytes,
                          intptr_t index);
void *caml_debuginfo_extract(void *slot);
void *caml_debuginfo_next(void *debuginfo);
void caml_debuginfo_location(void *debuginfo, struct caml_loc_info *location);
/* Written into the ring of Caml_state's domain, if rings are active. */
int caml_runtime_events_are_active(void);
void caml_ev_begin(unsigned phase);
void caml_ev_end(unsigned phase);
void caml_ev_counter(unsigned counter, uint64_t n);
void caml_ev_lifecycle(unsigned what, int64_t data);

/* In bytecode alone: whether the word of code is that instruction.  The
 * interpreter's state is on the stack when it allocates: accumulator,
 * environment, and the address of the code behind the instruction.  When it
 * runs pending actions the address is that of the instruction that comes next,
 * in another word.  The stack's struct begins with its pointer. */
int caml_is_instruction(int32_t code, int32_t instruction)
    __attribute__((weak));
enum {
    ALQI_OCAML_POPTRAP = 90,
    ALQI_OCAML_PERFORM = 149,
    ALQI_OCAML_SAVED_CODE = 2,
    ALQI_OCAML_NEXT_CODE = 3
};
/* The part of the program's code that the address is in; NULL: none. */
void *caml_find_code_fragment_by_pc(const char *pc);

/* In native code alone; weak in archives that serve bytecode, too. */
void caml_maybe_expand_stack(void) __attribute__((weak));
void caml_init_frame_descriptors(void) __attribute__((weak));
/* A frame's description begins with the address that a call returns to, then
 * `data`: the frame's bytes with the return address, by two flags; all ones: a
 * frame of C's.  NULL: the table has none. */
struct caml_frame_descr {
    uintptr_t address;
    uint16_t data;
};
enum { ALQI_OCAML_FRAME_FLAGS = 3, ALQI_OCAML_FRAME_OF_C = 0xFFFF };
void *caml_get_frame_descrs(void) __attribute__((weak));
struct caml_frame_descr *caml_find_frame_descr(void *table, uintptr_t address)
    __attribute__((weak));
/* A stack of native code, while its code calls C. */
struct caml_stack {
    void *sp; /* where the address is that the innermost frame returns to */
    void *exception_ptr;
    struct caml_stack_handler *handler;
};
struct caml_stack_handler {
    value handles[3];
    struct caml_stack *parent; /* NULL: it is no fiber's */
};
/* The plain frame that is or follows the one whose address is *address, below
 * *sp; both are moved to the next.  NULL: the stack has no more. */
struct caml_frame_descr *
caml_next_frame_descriptor(void *table, uintptr_t *address, char **sp,
                           struct caml_stack *stack) __attribute__((weak));
extern value *caml_globals[] __attribute__((weak));

#endif
