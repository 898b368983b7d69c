/* contract_ours.c -- prints where each field of Caml_state is, and how large
 * caml_params is, as src/ocaml/contract.h has them */
#include <stdio.h>

#include "ocaml/contract.h"
#include "ocaml/events.h"

int
main(void)
{
    printf("young_limit %zu\n",
           offsetof(struct caml_domain_state, young_limit));
    printf("young_ptr %zu\n", offsetof(struct caml_domain_state, young_ptr));
#define FIELD(type, name)                                                      \
    printf(#name " %zu\n", offsetof(struct caml_domain_state, name));
    ALQI_OCAML_HEAD(FIELD)
    printf("extra_params %zu\n",
           offsetof(struct caml_domain_state, extra_params));
    printf("all %zu\n", sizeof(struct caml_domain_state));
    printf("params %zu\n", sizeof(struct caml_params));
    printf("minor_tables %zu\n", sizeof(struct caml_minor_tables));
    printf("custom_elt %zu\n", sizeof(struct caml_custom_elt));
    printf("result %zu\n", sizeof(struct caml_result));
    printf("roots_block %zu\n", sizeof(struct caml_roots_block));
    printf("roots_block.tables %zu\n",
           offsetof(struct caml_roots_block, tables));
    printf("custom_operations %zu\n", sizeof(struct caml_custom_operations));
    printf("loc_info %zu\n", sizeof(struct caml_loc_info));
    printf("loc_info.start %zu\n",
           offsetof(struct caml_loc_info, loc_start_lnum));
    printf("perform %d, poptrap %d\n", ALQI_OCAML_PERFORM, ALQI_OCAML_POPTRAP);
    printf("frame_descr.data %zu\n", offsetof(struct caml_frame_descr, data));
    printf("frame_descr flags %d, of C %d\n", ALQI_OCAML_FRAME_FLAGS,
           ALQI_OCAML_FRAME_OF_C);
    printf("stack_info.sp %zu, handler %zu\n", offsetof(struct caml_stack, sp),
           offsetof(struct caml_stack, handler));
    printf("stack_handler.parent %zu\n",
           offsetof(struct caml_stack_handler, parent));
#define EVENT(name, number) printf(#name " %d\n", (int)number);
    ALQI_OCAML_EVENTS(EVENT)
    return 0;
}
