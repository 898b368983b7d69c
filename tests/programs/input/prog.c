#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char name[24];
    int count;
};

static struct node *table[64];

static unsigned
hash(const char *s)
{
    unsigned h = 5381;

    while (*s != '\0')
        h = h * 33 + (unsigned char)*s++;
    return h;
}

struct node *
find(const char *name)
{
    struct node **at = &table[hash(name) % 64];

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        snprintf((*at)->name, sizeof(*at)->name, "%s", name);
    }
    return *at;
}

int
main(void)
{
    char word[24];
    int n = 0;

    while (scanf("%23s", word) == 1)
        n += find(word)->count++ == 0;
    printf("%d words\n", n);
    return 0;
}
