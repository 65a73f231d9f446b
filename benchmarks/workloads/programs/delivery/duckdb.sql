WITH RECURSIVE days(part, d) USING KEY (part) AS (
    SELECT part, days FROM bought
    UNION
    (SELECT p.part, max(days.d)
     FROM days JOIN part_of AS p ON p.component = days.part LEFT JOIN recurring.days AS known ON known.part = p.part
     WHERE known.d IS NULL OR days.d > known.d
     GROUP BY p.part)
)
SELECT part, d FROM days
