WITH RECURSIVE closed AS MATERIALIZED (SELECT id FROM node WHERE id % 7 = 3),
reached(x) AS (
    SELECT dst FROM arc WHERE src = $source AND dst NOT IN (SELECT id FROM closed)
    UNION
    SELECT arc.dst FROM reached JOIN arc ON arc.src = reached.x WHERE arc.dst NOT IN (SELECT id FROM closed)
)
SELECT id FROM node WHERE id NOT IN (SELECT x FROM reached) AND id NOT IN (SELECT id FROM closed)
