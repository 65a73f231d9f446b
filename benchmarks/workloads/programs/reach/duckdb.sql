WITH RECURSIVE reach(x, y) AS (
    SELECT src, dst FROM arc WHERE src = $source
    UNION
    SELECT reach.x, arc.dst FROM reach JOIN arc ON reach.y = arc.src
)
SELECT x, y FROM reach
