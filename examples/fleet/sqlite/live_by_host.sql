-- As ../live_by_host.sql, of traces in one file of SQLite.
WITH sums AS (
    SELECT trace_id,
        total(bytes) FILTER (WHERE free_us = 0) AS live,
        total(bytes_var) FILTER (WHERE free_us = 0) AS live_var,
        total(peak_bytes) AS peak
    FROM samples GROUP BY trace_id
)
SELECT
    host, release, build_id,
    count(*) AS n_traces,
    round(sum(live)) AS live_bytes,
    round(sqrt(sum(live_var))) AS live_bytes_stderr,
    round(sum(peak)) AS peak_bytes
FROM sums JOIN traces USING (trace_id)
GROUP BY host, release, build_id
ORDER BY host, release, build_id
LIMIT 1000;
