/* capture.h -- the calling thread's stack, unwound in the process
 *
 * Frames come from the modules' .eh_frame through a process-wide cache of
 * decoded unwind rules; a thread's previous capture is verified in place
 * instead of being unwound again (doc/design/stack.md).  A capture never
 * allocates from malloc, never takes a lock that a signal handler may find
 * held by its own thread, and never calls another unwinder. */
#ifndef ALQI_STACK_CAPTURE_H
#define ALQI_STACK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALQI_STACK_FRAMES_MAX = 4096,
    ALQI_STACK_SLOTS = 256,
    ALQI_STACK_CALLS_LOG = 5
};

/* A thread's capture cache: the rows of its last walk, and cached stacks that
 * may come again.  The caller provides the memory, of alqi_stack_cache_bytes,
 * and keeps it to one thread.  Private to the part but for `serial`, which a
 * user reads, and `same_below`, which a user writes. */
struct alqi_stack_cache {
    uint64_t serial;       /* captures so far; names the last one         */
    uint32_t capacity;     /* rows; fixed                                 */
    uint32_t n_rows;       /* rows of the last walk                       */
    uintptr_t readable_lo; /* [lo, hi) of the stack may be read; .inv.read */
    uintptr_t readable_hi;
    uint64_t generation;     /* of the rules that rows and stacks rest on */
    uint64_t counted_serial; /* alqi_stack_counts has the captures up to
                                here, ...                                 */
    uint32_t n_walks;        /* ... but not these, which met no row, ...  */
    uint32_t n_incomplete;   /* ... nor these                             */
    uint64_t same_below;     /* the user's: n_same_outer is wanted only where
                                the note is below this                    */
    bool was_truncated;      /* the rows are not the whole stack          */
    /* Rows [capacity - n_rows, capacity), and one more that ends every search;
     * what they mean: capture_rows.h. */
    uintptr_t *pc;
    uintptr_t *ra_at;
    struct alqi_stack_link *link;
    struct alqi_stack_check *check;
    struct alqi_stack_frame *fresh;       /* frames of the walk under way  */
    struct alqi_stack_scratch *scratch;   /* two rules, too bulky for a small
                                             stack                         */
    struct alqi_stack_cached_set *stacks; /* captures that come again      */
    uint16_t at_slot[ALQI_STACK_SLOTS];   /* row, by its ra_at; may be stale */
    /* Return addresses outside of all modules that were behind a call: read
     * once, since asking whether code can be read takes a system call. */
    uintptr_t behind_call[1 << ALQI_STACK_CALLS_LOG];
};

size_t alqi_stack_cache_bytes(uint32_t capacity_frames);
/* Makes an empty cache in alqi_stack_cache_bytes of memory; more than
 * FRAMES_MAX frames are as many. */
void alqi_stack_cache_init(struct alqi_stack_cache *cache,
                           uint32_t capacity_frames);

/* Where to start: the registers at one instruction. */
struct alqi_stack_regs {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    bool is_return; /* pc is the return address of a call, sp its CFA */
};

/* The registers of the function that calls this (always inlined). */
static inline __attribute__((always_inline)) struct alqi_stack_regs
alqi_stack_regs_here(void)
{
    struct alqi_stack_regs r;
#if defined(__x86_64__)
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=r"(r.pc), "=r"(r.sp), "=r"(r.fp));
#elif defined(__aarch64__)
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29"
                     : "=r"(r.pc), "=r"(r.sp), "=r"(r.fp));
#else
#error "no register capture for this architecture"
#endif
    r.is_return = false;
    return r;
}

/* The registers of the caller of the function that calls this (always
 * inlined), at its return: one frame less to unwind.  A function reached by a
 * tail call has the caller of the one that jumped there. */
static inline __attribute__((always_inline)) struct alqi_stack_regs
alqi_stack_regs_of_caller(void)
{
#if defined(__aarch64__) && defined(__clang__)
    return alqi_stack_regs_here(); /* it does not say where the CFA is */
#else
    /* asked for, the frame record is kept: the caller's fp, return address */
    const uintptr_t *record = __builtin_frame_address(0);
    struct alqi_stack_regs r;

    r.pc = (uintptr_t)__builtin_return_address(0);
    r.sp = (uintptr_t)__builtin_dwarf_cfa();
    r.fp = record[0];
    r.is_return = true;
    return r;
#endif
}

struct alqi_stack_result {
    const uintptr_t *frames; /* innermost first; the cache's, valid until its
                                next capture                                */
    uint32_t n_frames;
    uint32_t n_same_outer; /* outermost frames that are equal, and in the
                              same place in the stack, to those of the
                              cache's previous capture; 0 when either was
                              truncated, and maybe where same_below says  */
    bool truncated;        /* more frames exist outside                   */
    bool incomplete; /* the walk ended before the thread's first frame      */
    uint64_t *note;  /* NULL, or the user's word beside a cached stack: the
                        same each time this stack is captured, 0 at first;
                        valid until the next capture                        */
};

/* Unwinds from *start, max_frames at most.  Leading frames that lie in
 * [skip_lo, skip_hi) -- the profiler's own text -- are left out.  max_frames
 * is cut to the cache's capacity.  A caller's frame is a return address;
 * a frame interrupted by a signal is reported one past the interrupted
 * instruction's address, so that every consumer may subtract 1. */
struct alqi_stack_result alqi_stack_capture(struct alqi_stack_cache *cache,
                                            const struct alqi_stack_regs *start,
                                            uintptr_t skip_lo,
                                            uintptr_t skip_hi,
                                            uint32_t max_frames);

/* Captures a stack that is deeper than the cache, into the caller's memory.
 * Nothing is kept or replayed: the capture takes a step for each frame. */
struct alqi_stack_result
alqi_stack_capture_deep(struct alqi_stack_cache *cache,
                        const struct alqi_stack_regs *start, uintptr_t skip_lo,
                        uintptr_t skip_hi, uintptr_t *frames,
                        uint32_t max_frames);

/* The CFA of frame i of the cache's first and only capture: the stack pointer
 * after that frame's return. */
uintptr_t alqi_stack_frame_cfa_at(const struct alqi_stack_cache *cache,
                                  uint32_t i);

/* Of the cache's last capture: whether every frame out to the thread's first
 * is one that was called, none that a signal interrupted. */
bool alqi_stack_last_is_plain(const struct alqi_stack_cache *cache);
/* Of the cache's last capture: an address between the stack memory of frame i
 * and that of its caller; beyond all memory where the stack ends with it. */
uintptr_t alqi_stack_last_end_of(const struct alqi_stack_cache *cache,
                                 uint32_t i);

/* A module as the dynamic linker has it. */
struct alqi_stack_module {
    uintptr_t start; /* mapped text and data: [start, end)          */
    uintptr_t end;
    uintptr_t bias;          /* address in memory - address in the file     */
    const char *path;        /* "" for the main program; valid while mapped */
    const uint8_t *build_id; /* NULL when it has none                */
    uint32_t build_id_bytes;
};

/* Called, on the capturing thread, the first time a module is met, and again
 * when another module has taken its place.  Serialised; may not capture. */
typedef void alqi_stack_module_fn(void *arg,
                                  const struct alqi_stack_module *module);

/* Sets the callback, of all threads; NULL: none. */
void alqi_stack_on_module(alqi_stack_module_fn *fn, void *arg);

/* Adds every module that is mapped now, and so reports the new ones.  Walks
 * the linker's list: not from malloc or a signal handler. */
void alqi_stack_report_all_modules(void);

/* Forgets every decoded rule and every module (.inv.gen): call after dlclose.
 */
void alqi_stack_forget(void);

/* Makes locks and caches usable in a forked child. */
void alqi_stack_after_fork_child(void);

struct alqi_stack_counts {
    uint64_t captures;
    uint64_t rules_decoded;
    uint64_t replays; /* captures that ended in verified replay */
    uint64_t incomplete;
};

/* May lack the latest captures of each cache, 63 at most. */
void alqi_stack_counts(struct alqi_stack_counts *out);

#endif
