WITH RECURSIVE sg(x, y) AS (
    SELECT a.dst, b.dst FROM arc AS a JOIN arc AS b ON a.src = b.src WHERE a.dst <> b.dst
    UNION ALL
    SELECT a.dst, b.dst FROM sg JOIN arc AS a ON a.src = sg.x JOIN arc AS b ON b.src = sg.y
)
SELECT DISTINCT x, y FROM sg
