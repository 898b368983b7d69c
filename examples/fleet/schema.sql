-- The tables of a ClickHouse server, as `aliquot export --to=clickhouse=URL
-- --create` makes them.  aliquot-fleet(7) says what each column means.

CREATE TABLE IF NOT EXISTS functions (
    function_id UInt64,
    name String,
    file String,
    module String
) ENGINE = ReplacingMergeTree() ORDER BY function_id;

CREATE TABLE IF NOT EXISTS frames (
    frame_id UInt64,
    function_id UInt64,
    line Int64
) ENGINE = ReplacingMergeTree() ORDER BY frame_id;

CREATE TABLE IF NOT EXISTS stacks (
    stack_id UInt64,
    position Int64,
    frame_id UInt64
) ENGINE = ReplacingMergeTree() ORDER BY (stack_id, position);

CREATE TABLE IF NOT EXISTS threads (
    trace_id UInt64,
    thread Int64,
    tid Int64,
    name String
) ENGINE = ReplacingMergeTree() ORDER BY (trace_id, thread);

CREATE TABLE IF NOT EXISTS samples (
    trace_id UInt64,
    day Date,
    release String,
    thread Int64,
    source String,
    alloc_us Int64,
    free_us Int64,
    promoted_us Int64,
    life_us Int64,
    size_bytes Int64,
    sampled_words Int64,
    objects Float64,
    objects_var Float64,
    bytes Float64,
    bytes_var Float64,
    is_at_peak UInt8,
    peak_objects Float64,
    peak_objects_var Float64,
    peak_bytes Float64,
    peak_bytes_var Float64,
    stack_id UInt64,
    site_id UInt64
) ENGINE = MergeTree() PARTITION BY toYYYYMM(day) ORDER BY (release, site_id, trace_id, alloc_us);

CREATE TABLE IF NOT EXISTS figures (
    trace_id UInt64,
    day Date,
    release String,
    measure String,
    site_id UInt64,
    is_mapping UInt8,
    bytes Float64,
    bytes_stderr Float64,
    bytes_low Float64,
    bytes_high Float64,
    objects Float64,
    objects_stderr Float64,
    objects_low Float64,
    objects_high Float64,
    sampled_blocks Int64
) ENGINE = ReplacingMergeTree() ORDER BY (trace_id, measure, site_id, is_mapping);

CREATE TABLE IF NOT EXISTS traces (
    trace_id UInt64,
    fingerprint UInt64,
    day Date,
    release String,
    service String,
    host String,
    executable String,
    build_id String,
    command String,
    pid Int64,
    start_us Int64,
    end_us Int64,
    peak_us Int64,
    interval_bytes Float64,
    is_exact UInt8,
    ended String,
    dropped Int64,
    sampled_blocks Int64,
    schema Int64
) ENGINE = ReplacingMergeTree() ORDER BY trace_id;

CREATE VIEW IF NOT EXISTS sites AS
SELECT site_id, name, file, module, line
FROM (SELECT frame_id AS site_id, function_id, line FROM frames)
GLOBAL ANY INNER JOIN functions USING (function_id);
