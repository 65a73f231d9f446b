-- Level by level; a part occurs in one level only, but the sum does not rely on it.
WITH RECURSIVE level(part, n) AS (
    SELECT CAST($product AS BIGINT), CAST(1 AS BIGINT)
    UNION ALL
    (SELECT p.component, CAST(sum(level.n * p.pieces) AS BIGINT)
     FROM level JOIN part_of AS p ON p.part = level.part
     GROUP BY p.component)
)
SELECT part, CAST(sum(n) AS BIGINT) FROM level GROUP BY part
