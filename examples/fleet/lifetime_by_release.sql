-- How long blocks live, by the function that allocated them and by release: the
-- mean of all blocks, which those sampled stand for.  What was never freed has
-- lived until its trace ended.
SELECT
    name, file, module, release,
    round(sum(lives) / sum(allocated)) AS average_life_us,
    round(sum(allocated)) AS allocated_objects,
    sum(n) AS sampled_blocks
FROM
(
    SELECT
        site_id, source = 'mmap' AS is_mapping, release,
        sum(life_us * objects) AS lives, sum(objects) AS allocated,
        count() AS n
    FROM samples
    WHERE trace_id GLOBAL IN (SELECT trace_id FROM traces)
    GROUP BY site_id, is_mapping, release
)
GLOBAL ANY INNER JOIN sites USING (site_id)
GROUP BY name, file, module, is_mapping, release
ORDER BY name, file, module, release
LIMIT 1000
FORMAT TabSeparatedWithNames
