WITH RECURSIVE tc(x, y) AS (
    SELECT src, dst FROM arc
    UNION
    SELECT tc.x, arc.dst FROM tc JOIN arc ON tc.y = arc.src
)
SELECT x, y FROM tc WHERE x = $source
