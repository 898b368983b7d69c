-- As ../top_sites.sql, of traces in one file of SQLite.
SELECT
    name, file, module,
    round(sum(bytes)) AS live_bytes,
    round(sqrt(sum(bytes_var))) AS live_bytes_stderr,
    round(sum(objects)) AS live_objects,
    count(*) AS sampled_blocks
FROM samples JOIN sites USING (site_id)
WHERE free_us = 0
GROUP BY name, file, module, source = 'mmap'
ORDER BY live_bytes DESC, name
LIMIT 50;
