WITH RECURSIVE days(part, d) AS (
    SELECT part, days FROM bought
    UNION ALL
    SELECT p.part, days.d FROM days JOIN part_of AS p ON p.component = days.part
)
SELECT part, max(d) FROM days GROUP BY part
