/* lying.c -- where the blocks lie that live when all has been converted
 *
 * [convert.h] An exact recording names blocks by address. A sampled one names
 * them by stream and ordinal, and whoever has looked into the process tells the
 * address. Sizes are kept beside, as a trace is written and not read. */
#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"

void
alqi_cli_conversion_keep_sizes(struct alqi_cli_conversion *c)
{
    c->keeps_sizes = true;
}

bool
alqi_cli_conversion_lies(const struct alqi_cli_conversion *c, uint64_t address,
                         uint32_t stream, uint64_t ordinal,
                         struct alqi_cli_lying *out)
{
    out->address = address;
    return alqi_base_map_get(&c->live, alqi_cli_conversion_key(stream, ordinal),
                             &out->id) &&
           alqi_base_map_get(&c->sizes, out->id, &out->bytes);
}

bool
alqi_cli_conversion_lies_next(const struct alqi_cli_conversion *c, size_t *at,
                              struct alqi_cli_lying *out)
{
    const struct alqi_base_map *live = alqi_cli_exact_live(c->exact);

    while (live != NULL &&
           alqi_base_map_next(live, at, &out->address, &out->id))
        if (alqi_base_map_get(&c->sizes, out->id, &out->bytes))
            return true;
    return false;
}
