WITH RECURSIVE above(p, m) AS (
    SELECT person, manager FROM works_for
    UNION ALL
    SELECT above.p, w.manager FROM above JOIN works_for AS w ON w.person = above.m
)
SELECT DISTINCT p, m FROM above
