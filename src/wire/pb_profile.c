/* pb_profile.c -- the messages of pprof's profile.proto, one function each
 *
 * Fields are written in the order of their numbers, as generated writers do.
 * Without memory the buffer is marked (pb.h .inv.short). */
#include "wire/pb_profile.h"

/* Fields of the messages, by number. */
enum {
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    LABEL_KEY = 1,
    LABEL_NUMBER = 3,
    LABEL_UNIT = 4,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINED = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

void
alqi_pb_value_type(struct alqi_pb *pb, unsigned field, uint64_t type,
                   uint64_t unit)
{
    size_t mark = alqi_pb_begin(pb, field);

    alqi_pb_uint(pb, TYPE_TYPE, type);
    alqi_pb_uint(pb, TYPE_UNIT, unit);
    alqi_pb_end(pb, mark);
}

void
alqi_pb_label(struct alqi_pb *pb, uint64_t key, int64_t number, uint64_t unit)
{
    size_t mark = alqi_pb_begin(pb, ALQI_PB_SAMPLE_LABEL);

    alqi_pb_uint(pb, LABEL_KEY, key);
    alqi_pb_int(pb, LABEL_NUMBER, number);
    alqi_pb_uint(pb, LABEL_UNIT, unit);
    alqi_pb_end(pb, mark);
}

void
alqi_pb_mapping(struct alqi_pb *pb, const struct alqi_pb_mapping *m)
{
    size_t mark = alqi_pb_begin(pb, PROFILE_MAPPING);

    alqi_pb_uint(pb, MAPPING_ID, m->id);
    alqi_pb_uint(pb, MAPPING_START, m->start);
    alqi_pb_uint(pb, MAPPING_LIMIT, m->limit);
    alqi_pb_uint(pb, MAPPING_OFFSET, m->offset);
    alqi_pb_uint(pb, MAPPING_FILE, m->file);
    alqi_pb_uint(pb, MAPPING_BUILD_ID, m->build_id);
    alqi_pb_uint(pb, MAPPING_HAS_FUNCTIONS, m->has_functions);
    alqi_pb_uint(pb, MAPPING_HAS_FILES, m->has_files);
    alqi_pb_uint(pb, MAPPING_HAS_LINES, m->has_lines);
    alqi_pb_uint(pb, MAPPING_HAS_INLINED, m->has_lines);
    alqi_pb_end(pb, mark);
}

size_t
alqi_pb_location(struct alqi_pb *pb, uint64_t id, uint64_t mapping,
                 uint64_t address)
{
    size_t mark = alqi_pb_begin(pb, PROFILE_LOCATION);

    alqi_pb_uint(pb, LOCATION_ID, id);
    alqi_pb_uint(pb, LOCATION_MAPPING, mapping);
    alqi_pb_uint(pb, LOCATION_ADDRESS, address);
    return mark;
}

void
alqi_pb_line(struct alqi_pb *pb, uint64_t function, uint64_t line)
{
    size_t mark = alqi_pb_begin(pb, LOCATION_LINE);

    alqi_pb_uint(pb, LINE_FUNCTION, function);
    alqi_pb_uint(pb, LINE_LINE, line);
    alqi_pb_end(pb, mark);
}

void
alqi_pb_function(struct alqi_pb *pb, uint64_t id, uint64_t name, uint64_t file)
{
    size_t mark = alqi_pb_begin(pb, PROFILE_FUNCTION);

    alqi_pb_uint(pb, FUNCTION_ID, id);
    alqi_pb_uint(pb, FUNCTION_NAME, name);
    alqi_pb_uint(pb, FUNCTION_SYSTEM_NAME, name);
    alqi_pb_uint(pb, FUNCTION_FILE, file);
    alqi_pb_end(pb, mark);
}
