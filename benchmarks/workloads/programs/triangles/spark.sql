SELECT count(*)
FROM arc AS a JOIN arc AS b ON a.dst = b.src JOIN arc AS c ON c.src = a.src AND c.dst = b.dst
WHERE a.src < a.dst AND b.src < b.dst
