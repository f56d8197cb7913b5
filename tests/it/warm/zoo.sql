CREATE DATABASE zoo DEFAULT CHARACTER SET utf8mb4;
USE zoo;
CREATE TABLE dg (i INT NOT NULL PRIMARY KEY);
INSERT INTO dg VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
CREATE TABLE seq (n INT NOT NULL PRIMARY KEY);
INSERT INTO seq SELECT 1 + a.i + 10*b.i + 100*c.i + 1000*d.i FROM dg a, dg b, dg c, dg d;
CREATE TABLE ints (
  id BIGINT NOT NULL PRIMARY KEY, k INT, pad CHAR(200) CHARACTER SET latin1 NOT NULL, KEY k (k));
INSERT INTO ints SELECT IF(n < 5000, n, n * 1000000), n * 7919 % 100003, REPEAT('p', 190) FROM seq;
CREATE TABLE composite (
  a INT NOT NULL, b INT NOT NULL, c VARCHAR(40), d INT, pad VARCHAR(150) NOT NULL,
  PRIMARY KEY (a, b), KEY cd (c, d));
INSERT INTO composite
  SELECT n % 50, n, IF(n % 5 = 0, NULL, CONCAT('customer-', SUBSTR(SHA2(n, 256), 1, 24))), n,
  REPEAT('q', 140) FROM seq;
CREATE TABLE strings (
  h VARCHAR(64) CHARACTER SET latin1 NOT NULL PRIMARY KEY, t VARCHAR(80), u CHAR(36), pad INT,
  KEY t (t), KEY u (u));
INSERT INTO strings
  SELECT SHA2(n, 256), CONCAT(IF(n % 2, 'Ж', 'я'), SHA2(n + 1, 256)), SUBSTR(SHA2(n + 2, 256), 1, 36), n
  FROM seq;
CREATE TABLE bins (b BINARY(16) NOT NULL PRIMARY KEY, v VARBINARY(40), pad VARCHAR(150), KEY v (v));
INSERT INTO bins SELECT UNHEX(SUBSTR(SHA2(n, 256), 1, 32)), UNHEX(SHA2(n + 9, 256)), REPEAT('r', 140) FROM seq;
CREATE TABLE money (
  m DECIMAL(20,4) NOT NULL PRIMARY KEY, f DOUBLE, d DATE, dt DATETIME(3), ts TIMESTAMP NULL,
  pad VARCHAR(200), KEY f (f), KEY d (d), KEY dt (dt), KEY ts (ts));
INSERT INTO money
  SELECT n * 3.1415, SIN(n) * 1e6, DATE_ADD('1970-01-02', INTERVAL n DAY),
  IF(n % 3, DATE_ADD('2020-01-01', INTERVAL n * 777 SECOND), NULL),
  DATE_ADD('2001-01-01', INTERVAL n HOUR), REPEAT('s', 180) FROM seq;
CREATE TABLE nokey (a INT, b VARCHAR(200) NOT NULL, KEY a (a));
INSERT INTO nokey SELECT n, REPEAT('t', 190) FROM seq;
CREATE TABLE nothing (id INT PRIMARY KEY, k INT, KEY k (k));
CREATE TABLE parts (id INT NOT NULL PRIMARY KEY, k INT, pad VARCHAR(150), KEY k (k))
  PARTITION BY HASH (id) PARTITIONS 4;
INSERT INTO parts SELECT n, n % 1000, REPEAT('u', 140) FROM seq;
CREATE TABLE few (
  id INT AUTO_INCREMENT PRIMARY KEY, e ENUM('x','y','z') NOT NULL, long_text VARCHAR(500), g INT,
  KEY e (e), KEY cut (long_text(20)),
  KEY later (g, long_text(10)));
INSERT INTO few (e, long_text, g) SELECT ELT(1 + n % 3, 'x', 'y', 'z'), REPEAT(SHA2(n, 256), 5), n FROM seq;
CREATE TABLE texts (id INT PRIMARY KEY, body TEXT, FULLTEXT KEY body (body));
INSERT INTO texts SELECT n, CONCAT('word', n) FROM seq WHERE n < 50;
CREATE TABLE `we``ird "tä'ble.x` (`i``d` INT PRIMARY KEY, `k'k` VARCHAR(20), KEY `k"k` (`k'k`));
INSERT INTO `we``ird "tä'ble.x` SELECT n, CONCAT('"', n) FROM seq;
CREATE VIEW v AS SELECT * FROM ints;
ANALYZE TABLE ints, composite, strings, bins, money, nokey, nothing, parts, few, texts,
  `we``ird "tä'ble.x`, seq, dg;
