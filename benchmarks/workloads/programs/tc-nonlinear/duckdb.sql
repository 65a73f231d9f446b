-- `tc` is what the last iteration found, `recurring.tc` all that is known.
WITH RECURSIVE tc(x, y) USING KEY (x, y) AS (
    SELECT src, dst FROM arc
    UNION
    (SELECT a.x, b.y FROM tc AS a JOIN recurring.tc AS b ON a.y = b.x
     UNION
     SELECT a.x, b.y FROM recurring.tc AS a JOIN tc AS b ON a.y = b.x)
)
SELECT x, y FROM tc
