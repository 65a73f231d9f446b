-- One recursive relation with the parity as a column.
WITH RECURSIVE path(odd, x, y) AS (
    SELECT true, src, dst FROM arc
    UNION
    SELECT NOT path.odd, path.x, arc.dst FROM path JOIN arc ON path.y = arc.src
)
SELECT x, y FROM path WHERE NOT odd
