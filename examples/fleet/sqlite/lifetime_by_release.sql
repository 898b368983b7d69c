-- As ../lifetime_by_release.sql, of traces in one file of SQLite.
SELECT
    name, file, module, release,
    round(sum(life_us * objects) / sum(objects)) AS average_life_us,
    round(sum(objects)) AS allocated_objects,
    count(*) AS sampled_blocks
FROM samples JOIN sites USING (site_id)
GROUP BY name, file, module, source = 'mmap', release
ORDER BY name, file, module, release
LIMIT 1000;
