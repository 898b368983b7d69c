/* naming.c -- which frame of a stack names it
 *
 * [naming.h] Answers take sites from shapes, and filters keep the stacks of
 * some sites before there is a shape: both name a stack here. */
#include "view/naming.h"

bool
alqi_view_words_mark(const struct alqi_view_words *words,
                     const struct alqi_view_index *x, uint8_t *functions)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (!alqi_view_word_mark(&words->words[i], x, functions))
            return false;
    return true;
}

/* [.def.naming] If each frame is a wrapper, the innermost one names the
 * stack. */
uint32_t
alqi_view_naming(const struct alqi_view_index *x, const uint8_t *is_hidden,
                 uint32_t node)
{
    uint32_t naming = 0, innermost = 0;

    for (; node != 0; node = x->nodes[node].parent) {
        uint32_t function = x->nodes[node].function;
        uint32_t flags = x->functions[function].flags;

        if (is_hidden[function])
            continue;
        if (innermost == 0)
            innermost = node;
        if (naming == 0)
            naming = node;
        if ((flags & ALQI_VIEW_WRAPPER) != 0)
            naming = 0;
        else if ((flags & ALQI_VIEW_NAMELESS) == 0)
            break;
    }
    return naming != 0 ? naming : innermost;
}
