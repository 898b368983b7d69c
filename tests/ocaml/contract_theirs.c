/* contract_theirs.c -- the same, as OCaml's headers have them */
#include <stddef.h>
#include <stdio.h>

#include <caml/mlvalues.h>
#include <caml/backtrace_prim.h>
#include <caml/custom.h>
#include <caml/domain_state.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
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
    return 0;
}
