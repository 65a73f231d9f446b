WITH RECURSIVE balanced(x, y) USING KEY (x, y) AS (
    SELECT DISTINCT o.src, c.dst FROM open AS o JOIN close AS c ON c.kind = o.kind AND c.src = o.dst
    UNION
    (SELECT o.src, c.dst
     FROM balanced AS b JOIN open AS o ON o.dst = b.x JOIN close AS c ON c.src = b.y AND c.kind = o.kind
     UNION
     SELECT a.x, b.y FROM balanced AS a JOIN recurring.balanced AS b ON a.y = b.x
     UNION
     SELECT a.x, b.y FROM recurring.balanced AS a JOIN balanced AS b ON a.y = b.x)
)
SELECT x, y FROM balanced
