WITH RECURSIVE p(v, o) USING KEY (v, o) AS (
    SELECT l, r FROM address_of AS s(l, r)
    UNION
    (SELECT s.l, p.o FROM assign AS s(l, r) JOIN p ON p.v = s.r
     UNION
     SELECT s.l, b.o FROM load AS s(l, r) JOIN p AS a ON a.v = s.r JOIN recurring.p AS b ON b.v = a.o
     UNION
     SELECT s.l, b.o FROM load AS s(l, r) JOIN recurring.p AS a ON a.v = s.r JOIN p AS b ON b.v = a.o
     UNION
     SELECT a.o, b.o FROM store AS s(l, r) JOIN p AS a ON a.v = s.l JOIN recurring.p AS b ON b.v = s.r
     UNION
     SELECT a.o, b.o FROM store AS s(l, r) JOIN recurring.p AS a ON a.v = s.l JOIN p AS b ON b.v = s.r)
)
SELECT v, o FROM p
