-- What grows: live bytes by function on the last day that has traces, less those
-- on the day before it that has some; a mean of each day's traces, with the
-- standard error of the difference.
WITH
    (SELECT max(day) FROM traces) AS last,
    (SELECT uniq(trace_id) FROM traces
        WHERE day = (SELECT max(day) FROM traces)) AS n_last,
    (SELECT uniq(trace_id) FROM traces
        WHERE day = (SELECT max(day) FROM traces
            WHERE day < (SELECT max(day) FROM traces))) AS n_before
SELECT
    name, file, module,
    round(sum(if(day = last, live / n_last, -live / n_before)))
        AS growth_bytes,
    round(sqrt(sum(live_var
        / pow(if(day = last, n_last, n_before), 2)))) AS growth_bytes_stderr
FROM
(
    SELECT
        site_id, source = 'mmap' AS is_mapping, day,
        sum(bytes) AS live, sum(bytes_var) AS live_var
    FROM samples
    WHERE free_us = 0
        AND trace_id GLOBAL IN (SELECT trace_id FROM traces)
        AND day >= (SELECT max(day) FROM traces
            WHERE day < (SELECT max(day) FROM traces))
    GROUP BY site_id, is_mapping, day
)
GLOBAL ANY INNER JOIN sites USING (site_id)
GROUP BY name, file, module, is_mapping
ORDER BY growth_bytes DESC, name
LIMIT 50
FORMAT TabSeparatedWithNames
