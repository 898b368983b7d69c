-- What is alive when traces end, and at their peaks, by machine, release and
-- build: sums over the traces of each.  A machine that stands out, or one that
-- runs an old build, is seen here.
SELECT
    host, release, build_id,
    count() AS n_traces,
    round(sum(live)) AS live_bytes,
    round(sqrt(sum(live_var))) AS live_bytes_stderr,
    round(sum(peak)) AS peak_bytes
FROM
(
    SELECT
        trace_id,
        sumIf(bytes, free_us = 0) AS live,
        sumIf(bytes_var, free_us = 0) AS live_var,
        sum(peak_bytes) AS peak
    FROM samples
    GROUP BY trace_id
)
GLOBAL ANY INNER JOIN
(
    SELECT trace_id, host, release, build_id FROM traces
) USING (trace_id)
GROUP BY host, release, build_id
ORDER BY host, release, build_id
LIMIT 1000
FORMAT TabSeparatedWithNames
