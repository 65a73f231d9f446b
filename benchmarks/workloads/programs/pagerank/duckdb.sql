-- One round of the program gives 0.15 to every node, so 19 rounds follow.
WITH RECURSIVE share AS MATERIALIZED (
    SELECT src, dst, 0.85 / count(*) OVER (PARTITION BY src) AS part FROM arc
),
rank(stage, x, r) AS (
    SELECT 1, id, CAST(0.15 AS DOUBLE) FROM node
    UNION ALL
    (SELECT last.stage + 1, node.id, 0.15 + coalesce(came.v, 0)
     FROM (SELECT max(stage) AS stage FROM rank HAVING max(stage) < 20) AS last
     CROSS JOIN node
     LEFT JOIN (
         SELECT share.dst, sum(rank.r * share.part) AS v
         FROM rank JOIN share ON share.src = rank.x
         GROUP BY share.dst
     ) AS came ON came.dst = node.id)
)
SELECT x, r FROM rank WHERE stage = 20
