/* chain.c -- a list that one variable holds, made by an allocator that is not
 * the C library's (bump.c) */
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 2000 };

struct node {
    struct node *next;
    char rest[48];
};

static struct node *head;

static void
node_put(void)
{
    struct node *node = calloc(1, sizeof *node);

    node->next = head;
    head = node;
}

int
main(void)
{
    for (int i = 0; i < NODES; i++)
        node_put();
    puts("ready");
    fflush(stdout);
    (void)getchar();
    return 0;
}
