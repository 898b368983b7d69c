-- The tables of a fleet, made in a database of each server beside the database
-- `shard` (schema.sql): what is sent to them goes to some shard, what is asked of
-- them is asked of all.
--
-- Samples go to any shard, so that all work on each question.  What is known by
-- its number goes by it: equal rows meet, and are one.

CREATE TABLE IF NOT EXISTS functions AS shard.functions
ENGINE = Distributed(fleet, shard, functions, function_id);

CREATE TABLE IF NOT EXISTS frames AS shard.frames
ENGINE = Distributed(fleet, shard, frames, frame_id);

CREATE TABLE IF NOT EXISTS stacks AS shard.stacks
ENGINE = Distributed(fleet, shard, stacks, stack_id);

CREATE TABLE IF NOT EXISTS threads AS shard.threads
ENGINE = Distributed(fleet, shard, threads, trace_id);

CREATE TABLE IF NOT EXISTS samples AS shard.samples
ENGINE = Distributed(fleet, shard, samples, rand());

CREATE TABLE IF NOT EXISTS figures AS shard.figures
ENGINE = Distributed(fleet, shard, figures, trace_id);

CREATE TABLE IF NOT EXISTS traces AS shard.traces
ENGINE = Distributed(fleet, shard, traces, trace_id);

CREATE VIEW IF NOT EXISTS sites AS
SELECT site_id, name, file, module, line
FROM (SELECT frame_id AS site_id, function_id, line FROM frames)
GLOBAL ANY INNER JOIN functions USING (function_id);
