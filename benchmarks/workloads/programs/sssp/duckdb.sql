WITH RECURSIVE sssp(x, d) USING KEY (x) AS (
    SELECT CAST($source AS BIGINT), CAST(0 AS BIGINT)
    UNION
    (SELECT arc.dst, CAST(min(sssp.d + arc.weight) AS BIGINT)
     FROM sssp JOIN arc ON arc.src = sssp.x LEFT JOIN recurring.sssp AS known ON known.x = arc.dst
     WHERE known.d IS NULL OR sssp.d + arc.weight < known.d
     GROUP BY arc.dst)
)
SELECT x, d FROM sssp
