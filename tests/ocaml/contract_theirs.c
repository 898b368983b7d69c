/* contract_theirs.c -- the same, as OCaml's headers have them */
#include <stddef.h>
#include <stdio.h>

#include <caml/mlvalues.h>
#include <caml/backtrace_prim.h>
#include <caml/custom.h>
#include <caml/domain_state.h>
#include <caml/fiber.h>
#include <caml/frame_descriptors.h>
#include <caml/instruct.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
#include <caml/runtime_events.h>
#include <caml/startup_aux.h>

int
main(void)
{
#define DOMAIN_STATE(type, name)                                               \
    printf(#name " %zu\n", offsetof(caml_domain_state, name));
#include <caml/domain_state.tbl>
    printf("all %zu\n", sizeof(caml_domain_state));
    printf("params %zu\n", sizeof(struct caml_params));
    printf("minor_tables %zu\n", sizeof(struct caml_minor_tables));
    printf("custom_elt %zu\n", sizeof(struct caml_custom_elt));
    printf("result %zu\n", sizeof(caml_result));
    printf("roots_block %zu\n", sizeof(struct caml__roots_block));
    printf("roots_block.tables %zu\n",
           offsetof(struct caml__roots_block, tables));
    printf("custom_operations %zu\n", sizeof(struct custom_operations));
    printf("loc_info %zu\n", sizeof(struct caml_loc_info));
    printf("loc_info.start %zu\n",
           offsetof(struct caml_loc_info, loc_start_lnum));
    printf("perform %d, poptrap %d\n", PERFORM, POPTRAP);
    printf("frame_descr.data %zu\n", offsetof(frame_descr, frame_data));
    printf("frame_descr flags %d, of C %d\n", FRAME_DESCRIPTOR_FLAGS,
           FRAME_RETURN_TO_C);
    printf("stack_info.sp %zu, handler %zu\n", offsetof(struct stack_info, sp),
           offsetof(struct stack_info, handler));
    printf("stack_handler.parent %zu\n",
           offsetof(struct stack_handler, parent));
#define EVENT(name) printf(#name " %d\n", (int)name);
    EVENT(EV_EXPLICIT_GC_SET)
    EVENT(EV_EXPLICIT_GC_STAT)
    EVENT(EV_EXPLICIT_GC_MINOR)
    EVENT(EV_EXPLICIT_GC_MAJOR)
    EVENT(EV_EXPLICIT_GC_FULL_MAJOR)
    EVENT(EV_EXPLICIT_GC_COMPACT)
    EVENT(EV_MAJOR)
    EVENT(EV_MINOR)
    EVENT(EV_EXPLICIT_GC_MAJOR_SLICE)
    EVENT(EV_MAJOR_SLICE)
    EVENT(EV_MAJOR_FINISH_CYCLE)
    EVENT(EV_COMPACT)
    EVENT(EV_COMPACT_EVACUATE)
    EVENT(EV_COMPACT_FORWARD)
    EVENT(EV_COMPACT_RELEASE)
    EVENT(EV_C_FORCE_MINOR_SET_MINOR_HEAP_SIZE)
    EVENT(EV_C_MINOR_PROMOTED)
    EVENT(EV_C_MINOR_ALLOCATED)
    EVENT(EV_C_MAJOR_HEAP_POOL_WORDS)
    EVENT(EV_C_MAJOR_HEAP_POOL_LIVE_WORDS)
    EVENT(EV_C_MAJOR_HEAP_LARGE_WORDS)
    EVENT(EV_C_MAJOR_HEAP_POOL_FRAG_WORDS)
    EVENT(EV_C_MAJOR_HEAP_LARGE_BLOCKS)
    EVENT(EV_DOMAIN_SPAWN)
    EVENT(EV_DOMAIN_TERMINATE)
    return 0;
}
