-- As ../growth_between_days.sql, of traces in one file of SQLite.
WITH
    days AS (
        SELECT day, count(*) AS n, rank() OVER (ORDER BY day DESC) AS age
        FROM traces GROUP BY day
    ),
    live AS (
        SELECT name, file, module, source = 'mmap' AS is_mapping,
            CASE age WHEN 1 THEN 1.0 ELSE -1.0 END / n AS share,
            bytes, bytes_var
        FROM samples JOIN sites USING (site_id) JOIN days USING (day)
        WHERE free_us = 0 AND age <= 2
    )
SELECT
    name, file, module,
    round(sum(share * bytes)) AS growth_bytes,
    round(sqrt(sum(share * share * bytes_var))) AS growth_bytes_stderr
FROM live
GROUP BY name, file, module, is_mapping
ORDER BY growth_bytes DESC, name
LIMIT 50;
