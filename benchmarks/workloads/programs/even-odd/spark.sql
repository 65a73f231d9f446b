WITH RECURSIVE path(odd, x, y) AS (
    SELECT true, src, dst FROM arc
    UNION ALL
    SELECT NOT path.odd, path.x, arc.dst FROM path JOIN arc ON path.y = arc.src
)
SELECT DISTINCT x, y FROM path WHERE NOT odd
