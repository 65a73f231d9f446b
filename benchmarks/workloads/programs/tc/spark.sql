WITH RECURSIVE tc(x, y) AS (
    SELECT src, dst FROM arc
    UNION ALL
    SELECT tc.x, arc.dst FROM tc JOIN arc ON tc.y = arc.src
)
SELECT DISTINCT x, y FROM tc
