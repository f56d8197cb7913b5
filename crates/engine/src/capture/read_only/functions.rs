//! Words before a parenthesis: functions of the servers that only read, those that do something, and words that are no
//! functions at all. As data. To let a built-in function through: its name in `READING`, in its place by the alphabet.

/// Built-in functions that give a value and do nothing else. Sorted.
#[rustfmt::skip]
const READING: &[&str] = &[
    "ABS", "ACOS", "ADDDATE", "ADDTIME", "ADD_MONTHS", "AES_DECRYPT", "AES_ENCRYPT", "ANY_VALUE",
    "AREA", "ASBINARY", "ASCII", "ASIN", "ASTEXT", "ASWKB", "ASWKT", "ATAN", "ATAN2", "AVG", "BIN",
    "BINARY", "BIN_TO_UUID", "BIT_AND", "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "BOUNDARY",
    "BUFFER", "CAST", "CEIL", "CEILING", "CENTROID", "CHAR", "CHARACTER_LENGTH", "CHARSET",
    "CHAR_LENGTH", "CHR", "COALESCE", "COERCIBILITY", "COLLATION", "COLUMN_ADD", "COLUMN_CHECK",
    "COLUMN_CREATE", "COLUMN_DELETE", "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST",
    "COMPRESS", "CONCAT", "CONCAT_WS", "CONNECTION_ID", "CONTAINS", "CONV", "CONVERT", "CONVERT_TZ",
    "CONVEXHULL", "COS", "COT", "COUNT", "CRC32", "CRC32C", "CROSSES", "CUME_DIST", "CURDATE",
    "CURRENT_DATE", "CURRENT_ROLE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURTIME",
    "DATABASE", "DATE", "DATEDIFF", "DATE_ADD", "DATE_FORMAT", "DATE_SUB", "DAY", "DAYNAME",
    "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "DECODE", "DEFAULT", "DEGREES", "DENSE_RANK",
    "DIMENSION", "DISJOINT", "ELT", "ENCODE", "ENCRYPT", "ENDPOINT", "ENVELOPE", "EQUALS", "EXISTS",
    "EXP", "EXPORT_SET", "EXTERIORRING", "EXTRACT", "EXTRACTVALUE", "FIELD", "FIND_IN_SET",
    "FIRST_VALUE", "FLOOR", "FORMAT", "FORMAT_BYTES", "FORMAT_PICO_TIME", "FOUND_ROWS",
    "FROM_BASE64", "FROM_DAYS", "FROM_UNIXTIME", "GEOMCOLLFROMTEXT", "GEOMCOLLFROMWKB",
    "GEOMETRYCOLLECTION", "GEOMETRYCOLLECTIONFROMTEXT", "GEOMETRYCOLLECTIONFROMWKB",
    "GEOMETRYFROMTEXT", "GEOMETRYFROMWKB", "GEOMETRYN", "GEOMETRYTYPE", "GEOMFROMTEXT",
    "GEOMFROMWKB", "GET_FORMAT", "GLENGTH", "GREATEST", "GROUPING", "GROUP_CONCAT", "GTID_SUBSET",
    "GTID_SUBTRACT", "HEX", "HOUR", "ICU_VERSION", "IF", "IFNULL", "INET6_ATON", "INET6_NTOA",
    "INET_ATON", "INET_NTOA", "INSERT", "INSTR", "INTERIORRINGN", "INTERSECTS", "INTERVAL",
    "ISCLOSED", "ISEMPTY", "ISNULL", "ISSIMPLE", "IS_FREE_LOCK", "IS_IPV4", "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED", "IS_IPV6", "IS_USED_LOCK", "IS_UUID", "JSON_ARRAY", "JSON_ARRAYAGG",
    "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_ARRAY_INTERSECT", "JSON_COMPACT",
    "JSON_CONTAINS", "JSON_CONTAINS_PATH", "JSON_DEPTH", "JSON_DETAILED", "JSON_EQUALS",
    "JSON_EXISTS", "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS", "JSON_KEY_VALUE", "JSON_LENGTH",
    "JSON_LOOSE", "JSON_MERGE", "JSON_MERGE_PATCH", "JSON_MERGE_PRESERVE", "JSON_NORMALIZE",
    "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_OBJECT_FILTER_KEYS", "JSON_OBJECT_TO_ARRAY",
    "JSON_OVERLAPS", "JSON_PRETTY", "JSON_QUERY", "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE",
    "JSON_SCHEMA_VALID", "JSON_SCHEMA_VALIDATION_REPORT", "JSON_SEARCH", "JSON_SET",
    "JSON_STORAGE_FREE", "JSON_STORAGE_SIZE", "JSON_TABLE", "JSON_TYPE", "JSON_UNQUOTE",
    "JSON_VALID", "JSON_VALUE", "KDF", "LAG", "LASTVAL", "LAST_DAY", "LAST_INSERT_ID", "LAST_VALUE",
    "LCASE", "LEAD", "LEAST", "LEFT", "LENGTH", "LENGTHB", "LINEFROMTEXT", "LINEFROMWKB",
    "LINESTRING", "LINESTRINGFROMTEXT", "LINESTRINGFROMWKB", "LN", "LOCALTIME", "LOCALTIMESTAMP",
    "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM", "MAKEDATE", "MAKETIME", "MAKE_SET",
    "MATCH", "MAX", "MBRCONTAINS", "MBRCOVEREDBY", "MBRCOVERS", "MBRDISJOINT", "MBREQUAL",
    "MBREQUALS", "MBRINTERSECTS", "MBROVERLAPS", "MBRTOUCHES", "MBRWITHIN", "MD5", "MEDIAN",
    "MICROSECOND", "MID", "MIN", "MINUTE", "MLINEFROMTEXT", "MLINEFROMWKB", "MOD", "MONTH",
    "MONTHNAME", "MPOINTFROMTEXT", "MPOINTFROMWKB", "MPOLYFROMTEXT", "MPOLYFROMWKB",
    "MULTILINESTRING", "MULTILINESTRINGFROMTEXT", "MULTILINESTRINGFROMWKB", "MULTIPOINT",
    "MULTIPOINTFROMTEXT", "MULTIPOINTFROMWKB", "MULTIPOLYGON", "MULTIPOLYGONFROMTEXT",
    "MULTIPOLYGONFROMWKB", "NAME_CONST", "NATURAL_SORT_KEY", "NOW", "NTH_VALUE", "NTILE", "NULLIF",
    "NUMGEOMETRIES", "NUMINTERIORRINGS", "NUMPOINTS", "NVL", "NVL2", "OCT", "OCTET_LENGTH",
    "OLD_PASSWORD", "ORD", "OVERLAPS", "PASSWORD", "PERCENTILE_CONT", "PERCENTILE_DISC",
    "PERCENT_RANK", "PERIOD_ADD", "PERIOD_DIFF", "PI", "POINT", "POINTFROMTEXT", "POINTFROMWKB",
    "POINTN", "POINTONSURFACE", "POLYFROMTEXT", "POLYFROMWKB", "POLYGON", "POLYGONFROMTEXT",
    "POLYGONFROMWKB", "POSITION", "POW", "POWER", "PS_CURRENT_THREAD_ID", "PS_THREAD_ID", "QUARTER",
    "QUOTE", "RADIANS", "RAND", "RANDOM_BYTES", "RANK", "REGEXP_INSTR", "REGEXP_LIKE",
    "REGEXP_REPLACE", "REGEXP_SUBSTR", "REPEAT", "REPLACE", "REVERSE", "RIGHT", "ROLES_GRAPHML",
    "ROUND", "ROW_COUNT", "ROW_NUMBER", "RPAD", "RTRIM", "SCHEMA", "SECOND", "SEC_TO_TIME",
    "SESSION_USER", "SFORMAT", "SHA", "SHA1", "SHA2", "SIGN", "SIN", "SOUNDEX", "SPACE", "SQRT",
    "SRID", "STARTPOINT", "STATEMENT_DIGEST", "STATEMENT_DIGEST_TEXT", "STD", "STDDEV",
    "STDDEV_POP", "STDDEV_SAMP", "STRCMP", "STR_TO_DATE", "ST_AREA", "ST_ASBINARY", "ST_ASGEOJSON",
    "ST_ASTEXT", "ST_ASWKB", "ST_ASWKT", "ST_BOUNDARY", "ST_BUFFER", "ST_BUFFER_STRATEGY",
    "ST_CENTROID", "ST_COLLECT", "ST_CONTAINS", "ST_CONVEXHULL", "ST_CROSSES", "ST_DIFFERENCE",
    "ST_DIMENSION", "ST_DISJOINT", "ST_DISTANCE", "ST_DISTANCE_SPHERE", "ST_ENDPOINT",
    "ST_ENVELOPE", "ST_EQUALS", "ST_EXTERIORRING", "ST_FRECHETDISTANCE", "ST_GEOHASH",
    "ST_GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMTXT", "ST_GEOMCOLLFROMWKB",
    "ST_GEOMETRYCOLLECTIONFROMTEXT", "ST_GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYFROMTEXT",
    "ST_GEOMETRYFROMWKB", "ST_GEOMETRYN", "ST_GEOMETRYTYPE", "ST_GEOMFROMGEOJSON",
    "ST_GEOMFROMTEXT", "ST_GEOMFROMWKB", "ST_HAUSDORFFDISTANCE", "ST_INTERIORRINGN",
    "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISCLOSED", "ST_ISEMPTY", "ST_ISRING", "ST_ISSIMPLE",
    "ST_ISVALID", "ST_LATFROMGEOHASH", "ST_LATITUDE", "ST_LENGTH", "ST_LINEFROMTEXT",
    "ST_LINEFROMWKB", "ST_LINEINTERPOLATEPOINT", "ST_LINEINTERPOLATEPOINTS",
    "ST_LINESTRINGFROMTEXT", "ST_LINESTRINGFROMWKB", "ST_LONGFROMGEOHASH", "ST_LONGITUDE",
    "ST_MAKEENVELOPE", "ST_MLINEFROMTEXT", "ST_MLINEFROMWKB", "ST_MPOINTFROMTEXT",
    "ST_MPOINTFROMWKB", "ST_MPOLYFROMTEXT", "ST_MPOLYFROMWKB", "ST_MULTILINESTRINGFROMTEXT",
    "ST_MULTILINESTRINGFROMWKB", "ST_MULTIPOINTFROMTEXT", "ST_MULTIPOINTFROMWKB",
    "ST_MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMWKB", "ST_NUMGEOMETRIES", "ST_NUMINTERIORRING",
    "ST_NUMINTERIORRINGS", "ST_NUMPOINTS", "ST_OVERLAPS", "ST_POINTATDISTANCE",
    "ST_POINTFROMGEOHASH", "ST_POINTFROMTEXT", "ST_POINTFROMWKB", "ST_POINTN", "ST_POINTONSURFACE",
    "ST_POLYFROMTEXT", "ST_POLYFROMWKB", "ST_POLYGONFROMTEXT", "ST_POLYGONFROMWKB", "ST_RELATE",
    "ST_SIMPLIFY", "ST_SRID", "ST_STARTPOINT", "ST_SWAPXY", "ST_SYMDIFFERENCE", "ST_TOUCHES",
    "ST_TRANSFORM", "ST_UNION", "ST_VALIDATE", "ST_WITHIN", "ST_X", "ST_Y", "SUBDATE", "SUBSTR",
    "SUBSTRING", "SUBSTRING_INDEX", "SUBTIME", "SUM", "SYSDATE", "SYSTEM_USER", "SYS_GUID", "TAN",
    "TIME", "TIMEDIFF", "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC",
    "TOUCHES", "TO_BASE64", "TO_CHAR", "TO_DAYS", "TO_SECONDS", "TRIM", "TRIM_ORACLE", "TRUNCATE",
    "UCASE", "UNCOMPRESS", "UNCOMPRESSED_LENGTH", "UNHEX", "UNIX_TIMESTAMP", "UPDATEXML", "UPPER",
    "USER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID", "UUID_SHORT", "UUID_TO_BIN", "UUID_V4",
    "UUID_V7", "VALIDATE_PASSWORD_STRENGTH", "VALUES", "VARIANCE", "VAR_POP", "VAR_SAMP", "VERSION",
    "WEEK", "WEEKDAY", "WEEKOFYEAR", "WEIGHT_STRING", "WITHIN", "YEAR", "YEARWEEK",
];

/// Built-in functions that do something: take locks, wait, read files, count on. Sorted.
#[rustfmt::skip]
const DOING: &[&str] = &[
    "BENCHMARK", "GET_LOCK", "LOAD_FILE", "MASTER_GTID_WAIT", "MASTER_POS_WAIT", "NEXTVAL",
    "RELEASE_ALL_LOCKS", "RELEASE_LOCK", "SETVAL", "SLEEP", "SOURCE_POS_WAIT", "SYS_EVAL",
    "SYS_EXEC", "SYS_SET", "WAIT_FOR_EXECUTED_GTID_SET", "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
];

/// Words that are no functions: reserved in both products, so no function can be called by them. Sorted.
#[rustfmt::skip]
const GRAMMAR: &[&str] = &[
    "ALL", "AND", "AS", "BETWEEN", "BIGINT", "BY", "CASE", "DEC", "DECIMAL", "DISTINCT",
    "DISTINCTROW", "DIV", "DOUBLE", "ELSE", "FLOAT", "FROM", "GROUP", "HAVING", "HIGH_PRIORITY",
    "IN", "INDEX", "INT", "INTEGER", "JOIN", "KEY", "LIKE", "MEDIUMINT", "NOT", "NUMERIC", "ON",
    "OR", "PARTITION", "REAL", "REGEXP", "RLIKE", "ROW", "SELECT", "SMALLINT",
    "SQL_CALC_FOUND_ROWS", "STRAIGHT_JOIN", "THEN", "TINYINT", "UNION", "USING", "VARBINARY",
    "VARCHAR", "WHEN", "WHERE", "XOR",
];

/// Hints that only choose a plan. Sorted.
#[rustfmt::skip]
const HINTS: &[&str] = &[
    "BKA", "BNL", "DERIVED_CONDITION_PUSHDOWN", "GROUP_INDEX", "HASH_JOIN", "INDEX", "INDEX_MERGE",
    "JOIN_FIXED_ORDER", "JOIN_INDEX", "JOIN_ORDER", "JOIN_PREFIX", "JOIN_SUFFIX", "MERGE", "MRR",
    "NO_BKA", "NO_BNL", "NO_DERIVED_CONDITION_PUSHDOWN", "NO_GROUP_INDEX", "NO_HASH_JOIN", "NO_ICP",
    "NO_INDEX", "NO_INDEX_MERGE", "NO_JOIN_INDEX", "NO_MERGE", "NO_MRR", "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION", "NO_SEMIJOIN", "NO_SKIP_SCAN", "ORDER_INDEX", "QB_NAME", "SEMIJOIN",
    "SKIP_SCAN", "SUBQUERY",
];

/// What a word before a parenthesis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionKind {
    /// A built-in function that only reads.
    Reading,
    /// A built-in function that does something.
    Doing,
    /// No function.
    Grammar,
    /// None that we know.
    Unknown,
}

/// Looks up a word, in capitals.
pub(super) fn function_kind(word: &str) -> FunctionKind {
    if READING.binary_search(&word).is_ok() {
        FunctionKind::Reading
    } else if GRAMMAR.binary_search(&word).is_ok() {
        FunctionKind::Grammar
    } else if DOING.binary_search(&word).is_ok() {
        FunctionKind::Doing
    } else {
        FunctionKind::Unknown
    }
}

/// Whether a name, whatever its case, is that of a built-in function that only reads.
pub(super) fn is_reading(name: &str) -> bool {
    function_kind(&name.to_ascii_uppercase()) == FunctionKind::Reading
}

/// Whether a comment with hints, without its `/*+` and `*/`, only chooses a plan.
pub(super) fn is_plain_hint(hint: &[u8]) -> bool {
    let is_known =
        |b: &u8| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"_@`.,()".contains(b);
    if !hint.iter().all(is_known) {
        return false;
    }
    let text = String::from_utf8_lossy(hint).to_ascii_uppercase();
    text.split('(').rev().skip(1).all(|before| {
        let word = before.trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
        HINTS.binary_search(&word.unwrap_or_default()).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_apart() {
        for list in [READING, DOING, GRAMMAR, HINTS] {
            for pair in list.windows(2) {
                assert!(pair[0] < pair[1], "{} stands before {}", pair[0], pair[1]);
            }
        }
        for name in DOING {
            assert_eq!(function_kind(name), FunctionKind::Doing);
        }
        for name in GRAMMAR {
            assert_eq!(function_kind(name), FunctionKind::Grammar);
        }
    }

    #[test]
    fn hints_that_set_something_are_not_plain() {
        assert!(is_plain_hint(b" INDEX(t1 `i 1`) NO_BKA(@qb) "));
        assert!(is_plain_hint(b" join_order (a, b)"));
        for hint in [
            &b"SET_VAR(sql_log_bin=0)"[..],
            b"MAX_EXECUTION_TIME(0)",
            b"INDEX(t) SET_VAR (foreign_key_checks=OFF)",
            b"RESOURCE_GROUP(x)",
            b"QB_NAME('a')",
            b"BKA(t) \xff",
        ] {
            assert!(!is_plain_hint(hint), "{}", String::from_utf8_lossy(hint));
        }
    }
}
