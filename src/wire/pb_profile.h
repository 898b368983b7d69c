/* pb_profile.h -- pprof's profile.proto: field numbers, and the messages that
 * both writers of profiles make
 *
 * A profile is the outermost message: its fields follow each other in the
 * buffer, in any order.  Texts are entries of its string table, named by their
 * index; index 0 is "".  Functions, locations and mappings are named by an id,
 * which counts from 1. */
#ifndef ALQI_WIRE_PB_PROFILE_H
#define ALQI_WIRE_PB_PROFILE_H

#include "wire/pb.h"

/* Fields of the profile, and of a sample. */
enum {
    ALQI_PB_PROFILE_SAMPLE_TYPE = 1,
    ALQI_PB_PROFILE_SAMPLE = 2,
    ALQI_PB_PROFILE_STRING = 6,
    ALQI_PB_PROFILE_TIME_NS = 9,
    ALQI_PB_PROFILE_DURATION_NS = 10,
    ALQI_PB_PROFILE_PERIOD_TYPE = 11,
    ALQI_PB_PROFILE_PERIOD = 12,
    ALQI_PB_PROFILE_COMMENT = 13,
    ALQI_PB_PROFILE_DEFAULT_TYPE = 14,
    ALQI_PB_SAMPLE_LOCATION = 1,
    ALQI_PB_SAMPLE_VALUE = 2,
    ALQI_PB_SAMPLE_LABEL = 3
};

/* A part of the process's address space that a file is mapped to. */
struct alqi_pb_mapping {
    uint64_t id;
    uint64_t start; /* [start, limit) */
    uint64_t limit;
    uint64_t offset;   /* in the file, of start           */
    uint64_t file;     /* string                          */
    uint64_t build_id; /* string, hexadecimal; 0: none    */
    /* All of its locations have function names, file names, line numbers. */
    bool has_functions;
    bool has_files;
    bool has_lines; /* and inlined calls */
};

void alqi_pb_mapping(struct alqi_pb *pb, const struct alqi_pb_mapping *m);
void alqi_pb_function(struct alqi_pb *pb, uint64_t id, uint64_t name,
                      uint64_t file);

/* PROFILE_SAMPLE_TYPE or PROFILE_PERIOD_TYPE; both are strings. */
void alqi_pb_value_type(struct alqi_pb *pb, unsigned field, uint64_t type,
                        uint64_t unit);

/* Begins a location; its lines follow, the innermost inlined call first, then
 * alqi_pb_end.  mapping 0: none. */
size_t alqi_pb_location(struct alqi_pb *pb, uint64_t id, uint64_t mapping,
                        uint64_t address);
void alqi_pb_line(struct alqi_pb *pb, uint64_t function, uint64_t line);

/* A number that a sample has, within the sample; key and unit are strings. */
void alqi_pb_label(struct alqi_pb *pb, uint64_t key, int64_t number,
                   uint64_t unit);

#endif
