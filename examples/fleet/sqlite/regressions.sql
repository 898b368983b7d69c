-- As ../regressions.sql, of traces in one file of SQLite.
WITH
    releases AS (
        SELECT release, count(*) AS n,
            rank() OVER (ORDER BY max(start_us) DESC, release) AS age
        FROM traces GROUP BY release
    ),
    sites_of AS (
        SELECT name, file, module,
            total(bytes) FILTER (WHERE age = 1)
                / (SELECT n FROM releases WHERE age = 1) AS new_bytes,
            total(bytes) FILTER (WHERE age = 2)
                / (SELECT n FROM releases WHERE age = 2) AS old_bytes,
            sqrt(total(bytes_var / n / n)) AS stderr
        FROM samples JOIN sites USING (site_id) JOIN releases USING (release)
        WHERE age <= 2
        GROUP BY name, file, module, source = 'mmap'
    )
SELECT
    name, file, module,
    round(new_bytes) AS new_bytes, round(old_bytes) AS old_bytes,
    round(new_bytes - old_bytes) AS growth_bytes,
    round(stderr) AS growth_bytes_stderr
FROM sites_of
WHERE new_bytes - old_bytes > 5 * stderr
ORDER BY growth_bytes DESC, name
LIMIT 50;
