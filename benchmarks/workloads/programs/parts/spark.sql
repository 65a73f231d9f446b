WITH RECURSIVE level(part, n) AS (
    SELECT CAST($product AS BIGINT), CAST(1 AS BIGINT)
    UNION ALL
    SELECT p.component, level.n * p.pieces FROM level JOIN part_of AS p ON p.part = level.part
)
SELECT part, sum(n) FROM level GROUP BY part
