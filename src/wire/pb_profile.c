/* pb_profile.c -- the messages of pprof's profile.proto, one function each
 *
 * Fields are written in the order of their numbers, as generated writers do.
 * Without memory the buffer is marked (pb.h .inv.short). */
#include "wire/pb_profile.h"

#include "base/base.h"

/* Fields of the messages, by number; most messages are numbers alone, in the
 * order of their fields. */
enum {
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    LOCATION_LINE = 4
};

#define RECORD(pb, field, ...)                                                 \
    do {                                                                       \
        const uint64_t values[] = {__VA_ARGS__};                               \
                                                                               \
        alqi_pb_record(pb, field, values, ALQI_COUNT_OF(values));              \
    } while (0)

void
alqi_pb_value_type(struct alqi_pb *pb, unsigned field, uint64_t type,
                   uint64_t unit)
{
    RECORD(pb, field, type, unit);
}

/* Field 2 is a text, which a number has not. */
void
alqi_pb_label(struct alqi_pb *pb, uint64_t key, int64_t number, uint64_t unit)
{
    RECORD(pb, ALQI_PB_SAMPLE_LABEL, key, 0, (uint64_t)number, unit);
}

void
alqi_pb_mapping(struct alqi_pb *pb, const struct alqi_pb_mapping *m)
{
    RECORD(pb, PROFILE_MAPPING, m->id, m->start, m->limit, m->offset, m->file,
           m->build_id, m->has_functions, m->has_files, m->has_lines,
           m->has_lines);
}

size_t
alqi_pb_location(struct alqi_pb *pb, uint64_t id, uint64_t mapping,
                 uint64_t address)
{
    const uint64_t values[] = {id, mapping, address};
    size_t mark = alqi_pb_begin(pb, PROFILE_LOCATION);

    alqi_pb_numbers(pb, values, ALQI_COUNT_OF(values));
    return mark;
}

void
alqi_pb_line(struct alqi_pb *pb, uint64_t function, uint64_t line)
{
    RECORD(pb, LOCATION_LINE, function, line);
}

/* The third number is the name as the system has it. */
void
alqi_pb_function(struct alqi_pb *pb, uint64_t id, uint64_t name, uint64_t file)
{
    RECORD(pb, PROFILE_FUNCTION, id, name, name, file);
}
