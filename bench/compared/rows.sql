CREATE TABLE rows (a, b, c);
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 300000)
INSERT INTO rows SELECT i, i % 97, hex(i * 7919) FROM numbers;
CREATE INDEX by_b ON rows (b, c);
SELECT count(*), max(c) FROM rows GROUP BY b ORDER BY 2;
