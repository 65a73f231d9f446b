WITH RECURSIVE path(x, y, d) USING KEY (x, y) AS (
    SELECT src, dst, min(weight) FROM arc GROUP BY src, dst
    UNION
    (SELECT path.x, arc.dst, CAST(min(path.d + arc.weight) AS BIGINT)
     FROM path JOIN arc ON arc.src = path.y
     LEFT JOIN recurring.path AS known ON known.x = path.x AND known.y = arc.dst
     WHERE known.d IS NULL OR path.d + arc.weight < known.d
     GROUP BY path.x, arc.dst)
)
SELECT x, y, d FROM path
