-- What is alive when traces end, by the function that allocated it: over all
-- machines, with the standard error of the estimate.
SELECT
    name, file, module,
    round(sum(bytes)) AS live_bytes,
    round(sqrt(sum(bytes_var))) AS live_bytes_stderr,
    round(sum(objects)) AS live_objects,
    sum(n) AS sampled_blocks
FROM
(
    SELECT
        site_id, source = 'mmap' AS is_mapping,
        sum(bytes) AS bytes, sum(bytes_var) AS bytes_var,
        sum(objects) AS objects, count() AS n
    FROM samples
    WHERE free_us = 0 AND trace_id GLOBAL IN (SELECT trace_id FROM traces)
    GROUP BY site_id, is_mapping
)
GLOBAL ANY INNER JOIN sites USING (site_id)
GROUP BY name, file, module, is_mapping
ORDER BY live_bytes DESC, name
LIMIT 50
FORMAT TabSeparatedWithNames
