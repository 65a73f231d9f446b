WITH RECURSIVE link AS MATERIALIZED (
    SELECT src, dst FROM arc UNION SELECT dst, src FROM arc
),
wcc(x, label) USING KEY (x) AS (
    SELECT DISTINCT src, src FROM link
    UNION
    (SELECT link.dst, min(wcc.label)
     FROM wcc JOIN link ON link.src = wcc.x JOIN recurring.wcc AS known ON known.x = link.dst
     WHERE wcc.label < known.label
     GROUP BY link.dst)
)
SELECT x, label FROM wcc
