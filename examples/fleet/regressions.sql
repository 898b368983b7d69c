-- What a release made worse: bytes allocated by function in the newest release,
-- less those in the one before it; a mean of each release's traces.  Only what
-- is more than five standard errors of the estimate is told.  They are those of
-- sampling: that runs of one release differ, too, is not in them.
WITH
    (SELECT argMax(release, start_us) FROM traces) AS newest,
    (SELECT uniq(trace_id) FROM traces
        WHERE release = (SELECT argMax(release, start_us) FROM traces))
        AS n_new,
    (SELECT uniq(trace_id) FROM traces
        WHERE release = (SELECT argMax(release, start_us) FROM traces
            WHERE release != (SELECT argMax(release, start_us) FROM traces)))
        AS n_old
SELECT
    name, file, module,
    round(sum(if(release = newest, allocated / n_new, 0))) AS new_bytes,
    round(sum(if(release = newest, 0, allocated / n_old))) AS old_bytes,
    round(sum(if(release = newest, allocated / n_new, -allocated / n_old)))
        AS growth_bytes,
    round(sqrt(sum(allocated_var
        / pow(if(release = newest, n_new, n_old), 2)))) AS growth_bytes_stderr
FROM
(
    SELECT
        site_id, source = 'mmap' AS is_mapping, release,
        sum(bytes) AS allocated, sum(bytes_var) AS allocated_var
    FROM samples
    WHERE trace_id GLOBAL IN (SELECT trace_id FROM traces)
        AND (release = (SELECT argMax(release, start_us) FROM traces)
            OR release = (SELECT argMax(release, start_us) FROM traces
                WHERE release !=
                    (SELECT argMax(release, start_us) FROM traces)))
        AND (SELECT uniq(release) FROM traces) > 1
    GROUP BY site_id, is_mapping, release
)
GLOBAL ANY INNER JOIN sites USING (site_id)
GROUP BY name, file, module, is_mapping
HAVING growth_bytes > 5 * growth_bytes_stderr
ORDER BY growth_bytes DESC, name
LIMIT 50
FORMAT TabSeparatedWithNames
