WITH RECURSIVE hcc(x, label) USING KEY (x) AS (
    SELECT DISTINCT src, src FROM arc
    UNION
    (SELECT arc.dst, min(hcc.label)
     FROM hcc JOIN arc ON arc.src = hcc.x LEFT JOIN recurring.hcc AS known ON known.x = arc.dst
     WHERE known.label IS NULL OR hcc.label < known.label
     GROUP BY arc.dst)
)
SELECT x, label FROM hcc
