//! Ordinary statements, as applications send them: all must be let through, and run.

/// On which server a statement runs; it is let through everywhere.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fits {
    Both,
    Maria,
    Mysql,
}

use Fits::{Both, Maria, Mysql};

pub(super) const SCHEMA: &str = "
CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE sbtest1 (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k));
INSERT INTO sbtest1 (k, c) VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE TABLE warehouse (w_id SMALLINT PRIMARY KEY, w_name VARCHAR(10), w_tax DECIMAL(4,2),
  w_ytd DECIMAL(12,2));
CREATE TABLE district (d_id TINYINT, d_w_id SMALLINT, d_name VARCHAR(10), d_tax DECIMAL(4,2),
  d_next_o_id INT, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id INT, c_d_id TINYINT, c_w_id SMALLINT, c_first VARCHAR(16),
  c_last VARCHAR(16), c_credit CHAR(2), c_balance DECIMAL(12,2), c_since DATETIME,
  PRIMARY KEY (c_w_id, c_d_id, c_id), KEY name (c_w_id, c_d_id, c_last, c_first));
CREATE TABLE orders (o_id INT, o_d_id TINYINT, o_w_id SMALLINT, o_c_id INT, o_entry_d DATETIME,
  o_carrier_id TINYINT, o_ol_cnt TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE order_line (ol_o_id INT, ol_d_id TINYINT, ol_w_id SMALLINT, ol_number TINYINT,
  ol_i_id INT, ol_quantity TINYINT, ol_amount DECIMAL(6,2),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (s_i_id INT, s_w_id SMALLINT, s_quantity SMALLINT, s_data VARCHAR(50),
  PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE wp_posts (ID BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, post_author BIGINT,
  post_date DATETIME, post_content LONGTEXT, post_title TEXT, post_status VARCHAR(20),
  post_type VARCHAR(20), post_parent BIGINT, FULLTEXT KEY words (post_title, post_content),
  KEY type_status_date (post_type, post_status, post_date, ID));
CREATE TABLE wp_postmeta (meta_id BIGINT PRIMARY KEY, post_id BIGINT, meta_key VARCHAR(191),
  meta_value LONGTEXT, KEY post_id (post_id));
CREATE TABLE wp_options (option_id BIGINT PRIMARY KEY, option_name VARCHAR(191) UNIQUE,
  option_value LONGTEXT, autoload VARCHAR(20));
CREATE TABLE wp_term_relationships (object_id BIGINT, term_taxonomy_id BIGINT,
  PRIMARY KEY (object_id, term_taxonomy_id));
CREATE TABLE users (id BIGINT PRIMARY KEY AUTO_INCREMENT, email VARCHAR(255) UNIQUE,
  name VARCHAR(255), `order` INT, `key` VARCHAR(9), data JSON, place POINT,
  created_at DATETIME(6), deleted_at DATETIME NULL, active BOOL DEFAULT TRUE);
INSERT INTO users (email, name, `order`, data, created_at) VALUES
  ('a@b.c', 'Ann', 1, '{\"a\": [1, 2], \"b\": {\"c\": \"x\"}}', NOW(6)),
  ('d@e.f', 'Bob', 2, '{\"a\": []}', '2024-01-02 03:04:05');
CREATE TABLE sales (id INT PRIMARY KEY, region VARCHAR(9), day DATE, amount DECIMAL(10,2))
  PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100),
  PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO sales VALUES (1, 'n', '2024-01-01', 10), (2, 'n', '2024-01-02', 20),
  (3, 's', '2024-02-01', 5);
CREATE TABLE tree (id INT PRIMARY KEY, parent INT, name VARCHAR(20));
INSERT INTO tree VALUES (1, NULL, 'root'), (2, 1, 'leaf'), (3, 2, 'leaf of leaf');
CREATE VIEW v_users AS SELECT id, UPPER(name) AS name FROM users WHERE deleted_at IS NULL;
";

pub(super) const ORDINARY: &[(Fits, &str)] = &[
    // sysbench
    (Both, "SELECT c FROM sbtest1 WHERE id=1"),
    (Both, "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100"),
    (Both, "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 100"),
    (Both, "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c"),
    (Both, "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c"),
    (Both, "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (1, 2, 3)"),
    (Both, "SELECT count(k) FROM sbtest1 WHERE k BETWEEN 1 AND 9 OR k BETWEEN 20 AND 29"),
    (Both, "BEGIN"),
    (Both, "COMMIT"),
    (Both, "ROLLBACK"),
    (Both, "START TRANSACTION WITH CONSISTENT SNAPSHOT"),
    (Both, "SAVEPOINT `sp_1`"),
    (Both, "ROLLBACK TO SAVEPOINT `sp_1`"),
    (Both, "RELEASE SAVEPOINT `sp_1`"),
    (Both, "commit and no chain"),
    // TPC-C
    (
        Both,
        "SELECT c_first, c_last, c_credit FROM customer, warehouse WHERE w_id = 1 AND \
     c_w_id = w_id",
    ),
    (Both, "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = 1 AND d_id = 1 FOR UPDATE"),
    (Both, "SELECT s_quantity FROM stock WHERE s_i_id = 1 AND s_w_id = 1 FOR UPDATE"),
    (Both, "SELECT count(c_id) namecnt FROM customer WHERE c_w_id = 1 AND c_last = 'BARBARBAR'"),
    (
        Both,
        "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock WHERE ol_w_id = 1 AND ol_d_id = 1 \
         AND ol_o_id < 3001 AND ol_o_id >= (3001 - 20) AND s_w_id = 1 AND s_i_id = ol_i_id \
         AND s_quantity < 15",
    ),
    (Both, "SELECT o_id, o_entry_d FROM orders WHERE o_w_id = 1 ORDER BY o_id DESC LIMIT 1"),
    (Both, "SELECT SUM(ol_amount) sm FROM order_line WHERE ol_o_id = 1 AND ol_d_id = 1"),
    (Both, "SELECT MIN(o_id) FROM orders WHERE o_carrier_id IS NULL LOCK IN SHARE MODE"),
    // WordPress
    (Both, "SELECT option_name, option_value FROM wp_options WHERE autoload = 'yes'"),
    (Both, "SELECT option_value FROM wp_options WHERE option_name = 'siteurl' LIMIT 1"),
    (
        Both,
        "SELECT SQL_CALC_FOUND_ROWS wp_posts.ID FROM wp_posts WHERE 1=1 AND wp_posts.post_type = \
         'post' AND (wp_posts.post_status = 'publish' OR wp_posts.post_status = 'private') \
         ORDER BY wp_posts.post_date DESC LIMIT 0, 10",
    ),
    (Both, "SELECT FOUND_ROWS()"),
    (Both, "SELECT post_id, meta_key, meta_value FROM wp_postmeta WHERE post_id IN (1,2,3)"),
    (
        Both,
        "SELECT p.*, tr.object_id FROM wp_posts AS p INNER JOIN wp_term_relationships AS tr ON \
         p.ID = tr.object_id WHERE p.post_title LIKE '%it\\'s 100\\% of \\_x%'",
    ),
    (
        Both,
        "SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM \
     wp_posts GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY MAX(post_date) DESC",
    ),
    (Both, "SELECT * FROM wp_posts WHERE MATCH (post_title, post_content) AGAINST ('a b')"),
    (
        Both,
        "SELECT ID, MATCH(post_title,post_content) AGAINST('+x -y' IN BOOLEAN MODE) AS score FROM \
         wp_posts WHERE MATCH(post_title,post_content) AGAINST('x' WITH QUERY EXPANSION)",
    ),
    (Both, "SELECT ID FROM wp_posts USE INDEX (type_status_date) WHERE post_type = 'page'"),
    (Both, "SELECT ID FROM wp_posts IGNORE INDEX FOR ORDER BY (type_status_date) ORDER BY ID"),
    (Both, "SHOW TABLES LIKE 'wp\\_%'"),
    (Both, "SHOW FULL COLUMNS FROM `wp_posts`"),
    (Both, "DESCRIBE wp_posts"),
    // Frameworks
    (Both, "SELECT `users`.* FROM `users` WHERE `users`.`id` = 1 LIMIT 1"),
    (Both, "SELECT 1 AS one FROM `users` WHERE `users`.`email` = BINARY 'a@b.c' LIMIT 1"),
    (Both, "SELECT `t0`.`id` AS `t0_id`, `t0`.`name` AS `t0_name` FROM `users` AS `t0`"),
    (Both, "SELECT (1) AS `a` FROM `users` WHERE `users`.`email` = 'x' LIMIT 1"),
    (
        Both,
        "SELECT COUNT(*) AS `__count` FROM `users` WHERE NOT (`users`.`deleted_at` IS NOT NULL)",
    ),
    (
        Both,
        "select user0_.id as id1_0_, user0_.name as name2_0_ from users user0_ where user0_.id=1",
    ),
    (Both, "/* load Owner */ select u.id from users u left outer join sales s on u.id=s.id"),
    (Both, "select exists(select * from `users` where `email` = 'a@b.c') as `exists`"),
    (Both, "select * from `users` where `id` = 1 and `users`.`deleted_at` is null for update"),
    (Both, "SELECT id, `order`, `key` FROM users ORDER BY `order`, users.key"),
    (Both, "SELECT u.id FROM users u WHERE (u.id, u.`order`) IN ((1, 1), (2, 2))"),
    (Both, "SELECT * FROM users WHERE id > 0 ORDER BY id LIMIT 10 OFFSET 0"),
    (Maria, "SELECT @@session.tx_isolation"),
    (Mysql, "SELECT @@session.transaction_isolation"),
    (Both, "SET NAMES utf8mb4"),
    (Both, "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci"),
    (Both, "SET NAMES 'utf8'"),
    (Both, "SET CHARACTER SET utf8mb4"),
    (Both, "SET autocommit=1"),
    (Both, "SET AUTOCOMMIT = 0"),
    (Both, "set session autocommit=1"),
    (Both, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    (Both, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"),
    (Both, "set session transaction read only"),
    (Both, "SET SQL_AUTO_IS_NULL = 0"),
    (Both, "SET time_zone = '+00:00'"),
    (Both, "SET @@session.time_zone='SYSTEM'"),
    (Both, "SET sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"),
    (
        Both,
        "SET @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), \
         ',NO_AUTO_VALUE_ON_ZERO'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147",
    ),
    (Both, "SET SESSION sql_mode = ''"),
    (Both, "SET character_set_results = NULL"),
    (Both, "SET @x = 1"),
    (Both, "SET @a := 5, @b = 'x', @c = (SELECT MAX(id) FROM users)"),
    (Both, "/*!40101 SET NAMES utf8 */"),
    (Both, "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */"),
    (Both, "SET SESSION group_concat_max_len = 65536"),
    (Both, "SET net_write_timeout=600"),
    (Both, "USE shop"),
    (Both, "USE `shop`"),
    (Both, "SELECT @@version_comment LIMIT 1"),
    (Both, "SELECT DATABASE()"),
    (Both, "SELECT VERSION(), CURRENT_USER(), USER(), CONNECTION_ID()"),
    (Both, "select @@version, @@max_allowed_packet, @@global.read_only"),
    (Both, "SHOW VARIABLES LIKE 'sql_mode'"),
    (Both, "SHOW SESSION VARIABLES WHERE Variable_name IN ('a', 'b')"),
    (Both, "SHOW GLOBAL STATUS LIKE 'Threads_%'"),
    (Both, "SHOW WARNINGS"),
    (Both, "SHOW COUNT(*) WARNINGS"),
    (Both, "SHOW DATABASES"),
    (Both, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'"),
    (Both, "SHOW TABLE STATUS FROM shop LIKE 'users'"),
    (Both, "SHOW CREATE TABLE `shop`.`users`"),
    (Both, "SHOW CREATE VIEW v_users"),
    (Both, "SHOW KEYS FROM users"),
    (Both, "SHOW INDEX FROM `users` FROM `shop`"),
    (Both, "SHOW FULL PROCESSLIST"),
    (Both, "SHOW ENGINES"),
    (Both, "SHOW ENGINE INNODB STATUS"),
    (Both, "SHOW COLLATION WHERE Charset = 'utf8mb4'"),
    (Both, "SHOW CHARACTER SET LIKE 'utf8%'"),
    (Both, "SHOW GRANTS FOR CURRENT_USER()"),
    (Both, "SHOW TRIGGERS"),
    (Both, "SHOW PROCEDURE STATUS WHERE Db = 'shop'"),
    (Both, "SHOW OPEN TABLES"),
    (Both, "EXPLAIN SELECT * FROM users WHERE id = 1"),
    (Both, "EXPLAIN FORMAT=JSON SELECT * FROM users"),
    (Both, "DESC users email"),
    (Mysql, "EXPLAIN ANALYZE SELECT * FROM users"),
    (Mysql, "EXPLAIN FORMAT=TREE SELECT * FROM users"),
    (Maria, "ANALYZE FORMAT=JSON SELECT * FROM users"),
    (Maria, "EXPLAIN EXTENDED SELECT * FROM users"),
    // Catalogs
    (
        Both,
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH + INDEX_LENGTH AS bytes FROM \
         information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys')",
    ),
    (
        Both,
        "SELECT k.CONSTRAINT_NAME, GROUP_CONCAT(k.COLUMN_NAME ORDER BY k.ORDINAL_POSITION \
     SEPARATOR \
         ', ') FROM information_schema.KEY_COLUMN_USAGE k GROUP BY k.CONSTRAINT_NAME",
    ),
    (Both, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Sleep'"),
    (Mysql, "SELECT * FROM performance_schema.threads LIMIT 1"),
    // Functions of all kinds
    (Both, "SELECT ABS(-1), CEIL(1.2), FLOOR(1.8), ROUND(1.234, 2), TRUNCATE(1.9, 0), MOD(7, 3)"),
    (Both, "SELECT CONCAT('a', 'b'), CONCAT_WS(',', 1, 2), LEFT('abc', 1), RIGHT('abc', 1)"),
    (
        Both,
        "SELECT SUBSTRING('abc' FROM 2 FOR 1), TRIM(LEADING 'x' FROM 'xa'), POSITION('a' IN 'ba')",
    ),
    (
        Both,
        "SELECT INSERT('abc', 1, 1, 'x'), REPLACE('a', 'a', 'b'), REPEAT('a', 3), LPAD('a', \
     3, ' ')",
    ),
    (Both, "SELECT IF(1, 2, 3), IFNULL(NULL, 1), NULLIF(1, 1), COALESCE(NULL, 2)"),
    (Both, "SELECT CASE WHEN 1 THEN 'a' ELSE 'b' END, CASE 1 WHEN 1 THEN 2 END"),
    (Both, "SELECT NOW(), NOW(6), CURDATE(), CURRENT_TIMESTAMP, UTC_TIMESTAMP(), UNIX_TIMESTAMP()"),
    (
        Both,
        "SELECT DATE_ADD('2024-01-01', INTERVAL 1 DAY), '2024-01-01' - INTERVAL '1:2' HOUR_MINUTE",
    ),
    (
        Both,
        "SELECT DATE_FORMAT(NOW(), '%Y-%m-%d %H:%i'), STR_TO_DATE('1', '%d'), EXTRACT(YEAR \
     FROM NOW())",
    ),
    (Both, "SELECT TIMESTAMPDIFF(SECOND, '2024-01-01', NOW()), DATEDIFF(NOW(), '2024-01-01')"),
    (Both, "SELECT CAST('1' AS SIGNED), CAST(1 AS CHAR(10)), CAST('2024-01-01' AS DATETIME(6))"),
    (
        Both,
        "SELECT CONVERT('a' USING utf8mb4), CONVERT('1', DECIMAL(10, 2)), _utf8mb4'a' \
     COLLATE utf8mb4_bin",
    ),
    (
        Maria,
        "SELECT MD5('a'), SHA1('a'), SHA2('a', 256), HEX('a'), UNHEX('61'), CRC32('a'), UUID()",
    ),
    (Both, "SELECT INET_ATON('10.0.0.1'), INET6_NTOA(INET6_ATON('::1')), TO_BASE64('a')"),
    (
        Both,
        "SELECT 'a' REGEXP '^a', 'a' RLIKE ('a'), 'abc' LIKE 'a|%' ESCAPE '|', 'a' SOUNDS LIKE 'b'",
    ),
    (
        Maria,
        "SELECT x'41', X'41', 0x41, b'1010', 1e3, .5, -1.5e-3, _utf8mb4'x', N'y', TRUE, NULL, \\N",
    ),
    (
        Both,
        "SELECT 5 DIV 2, 5 % 2, 5 MOD 2, 1 XOR 0, 1 <=> NULL, 1 << 2, ~1, 1 | 2, 1 & 3, !0, NOT 1",
    ),
    (Both, "SELECT 'it''s', \"double\", 'a\\'b', 'tab\\t', '\u{e9}\u{1f600}'"),
    (Both, "SELECT DATE '2024-01-01', TIMESTAMP'2024-01-01 00:00:00', {d '2024-01-01'}"),
    (Both, "SELECT LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS()"),
    (
        Both,
        "SELECT RAND(), RAND(5), GREATEST(1, 2), LEAST(1, 2), FIELD('a', 'b', 'a'), ELT(1, 'a')",
    ),
    (Both, "SELECT @n := @n + 1 AS n, id FROM users, (SELECT @n := 0) init"),
    (Both, "SELECT COUNT(DISTINCT region), SUM(amount), AVG(amount), STDDEV(amount) FROM sales"),
    (Both, "SELECT region, SUM(amount) FROM sales GROUP BY region WITH ROLLUP"),
    (Both, "SELECT region, COUNT(*) c FROM sales GROUP BY region HAVING c > 0 AND MAX(amount) > 1"),
    (Both, "SELECT * FROM sales PARTITION (p0) WHERE day > '2024-01-01' - INTERVAL 1 MONTH"),
    (
        Both,
        "SELECT BIT_AND(id), BIT_OR(id), GROUP_CONCAT(DISTINCT region ORDER BY region DESC) \
     FROM sales",
    ),
    (Mysql, "SELECT SHA2('a', 256), x'41', 0x41, b'1010', .5, -1.5e-3, _utf8mb4'x', N'y', UUID()"),
    // JSON
    (
        Both,
        "SELECT JSON_EXTRACT(data, '$.a[0]'), JSON_UNQUOTE(JSON_EXTRACT(data, '$.b.c')) FROM users",
    ),
    (Mysql, "SELECT data->'$.a', data->>'$.b.c' FROM users WHERE data->>'$.b.c' = 'x'"),
    (Both, "SELECT JSON_OBJECT('a', 1), JSON_ARRAY(1, 2), JSON_VALID('{}'), JSON_LENGTH('[1]')"),
    (Both, "SELECT JSON_CONTAINS(data, '1', '$.a'), JSON_KEYS(data), JSON_TYPE(data) FROM users"),
    (Both, "SELECT JSON_ARRAYAGG(id), JSON_OBJECTAGG(id, name) FROM users"),
    (
        Both,
        "SELECT u.id, j.v FROM users u, JSON_TABLE(u.data, '$.a[*]' COLUMNS (n FOR \
     ORDINALITY, v INT \
         PATH '$' DEFAULT '0' ON EMPTY)) AS j",
    ),
    (Mysql, "SELECT 1 MEMBER OF ('[1, 2]')"),
    // Space
    (Both, "SELECT ST_X(POINT(1, 2)), ST_AsText(ST_GeomFromText('POINT(1 2)'))"),
    (
        Both,
        "SELECT id FROM users WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,9 0,9 9,0 9,0 \
     0))'), place)",
    ),
    (Both, "SELECT ST_Distance(ST_GeomFromText('POINT(0 0)'), ST_GeomFromText('POINT(3 4)'))"),
    // Windows and common table expressions
    (Both, "SELECT id, ROW_NUMBER() OVER (ORDER BY amount DESC) AS rn FROM sales"),
    (
        Both,
        "SELECT id, SUM(amount) OVER (PARTITION BY region ORDER BY day ROWS UNBOUNDED \
     PRECEDING) FROM sales",
    ),
    (
        Both,
        "SELECT id, LAG(amount, 1) OVER w, LEAD(amount) OVER w FROM sales WINDOW w AS \
     (ORDER BY id)",
    ),
    (
        Both,
        "SELECT RANK() OVER (ORDER BY id), NTILE(2) OVER (ORDER BY id), FIRST_VALUE(id) \
     OVER () FROM sales",
    ),
    (Both, "WITH big AS (SELECT * FROM sales WHERE amount > 5) SELECT COUNT(*) FROM big"),
    (
        Both,
        "WITH RECURSIVE up (id, parent, depth) AS (SELECT id, parent, 0 FROM tree WHERE id \
     = 3 UNION \
         ALL SELECT t.id, t.parent, up.depth + 1 FROM tree t JOIN up ON t.id = up.parent) \
     SELECT * FROM up",
    ),
    (
        Both,
        "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a JOIN b \
     ON y = x + 1",
    ),
    // Joins and unions
    (Both, "SELECT * FROM users u INNER JOIN tree t USING (id) LEFT JOIN sales s ON s.id = t.id"),
    (Both, "SELECT * FROM users NATURAL JOIN tree"),
    (Both, "SELECT u.id FROM users u STRAIGHT_JOIN tree t ON u.id = t.id"),
    (Both, "SELECT * FROM (users u CROSS JOIN tree t) WHERE u.id = t.id"),
    (Both, "(SELECT id FROM users) UNION (SELECT id FROM tree) ORDER BY id LIMIT 5"),
    (
        Both,
        "SELECT id FROM users UNION ALL SELECT id FROM tree UNION DISTINCT SELECT id FROM sales",
    ),
    (Both, "SELECT id FROM users INTERSECT SELECT id FROM tree"),
    (Both, "SELECT id FROM users EXCEPT SELECT id FROM tree"),
    (Both, "SELECT * FROM users WHERE id = ANY (SELECT id FROM tree) OR id > ALL (SELECT 1)"),
    (Both, "SELECT * FROM users WHERE EXISTS (SELECT 1 FROM tree WHERE tree.id = users.id)"),
    (Both, "SELECT (SELECT MAX(id) FROM tree) AS m, d.* FROM (SELECT id FROM users) AS d"),
    (
        Mysql,
        "SELECT u.id, l.m FROM users u, LATERAL (SELECT MAX(id) m FROM tree WHERE id > u.id) l",
    ),
    (Mysql, "SELECT * FROM (SELECT 1, 2) AS d (a, b)"),
    (Mysql, "VALUES ROW(1, 2), ROW(3, 4)"),
    (Maria, "VALUES (1, 2), (3, 4)"),
    (Mysql, "TABLE tree ORDER BY id LIMIT 2"),
    (Mysql, "SELECT /*+ INDEX(sbtest1 k_1) */ id FROM sbtest1 WHERE k = 1"),
    (Mysql, "SELECT /*+ MAX_EXECUTION_TIME(1000) */ id FROM sbtest1"),
    (Both, "SELECT /*!40001 SQL_NO_CACHE */ * FROM sbtest1"),
    (Both, "SELECT SQL_NO_CACHE HIGH_PRIORITY id FROM sbtest1 FORCE INDEX (PRIMARY)"),
    (Both, "SELECT * FROM v_users"),
    (Both, "SELECT id -- the key\n, k # other\n FROM /* the */ sbtest1;"),
    (Maria, "SELECT * FROM seq_1_to_3"),
    (Maria, "SELECT id FROM sbtest1 LIMIT ROWS EXAMINED 100"),
    (Both, "DO 1"),
];
