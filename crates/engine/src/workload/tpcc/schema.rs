//! The nine tables: columns, keys, and the statements that make them.
//! Source: TPC-C 5.11, clauses 1.3 and 1.4. Amounts are DECIMAL of the digits that the clauses name.

use super::options::TpccSettings;

/// Districts of a warehouse.
pub(super) const DISTRICTS: u32 = 10;
/// Customers of a district.
pub(super) const CUSTOMERS: u32 = 3_000;
/// Orders of a district when the load is done.
pub(super) const ORDERS: u32 = 3_000;
/// The first order of a district that is not delivered yet when the load is done.
pub(super) const FIRST_NEW_ORDER: u32 = 2_101;
/// Items, and rows of stock in each warehouse.
pub(super) const ITEMS: u32 = 100_000;

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TpccTable {
    Item,
    Warehouse,
    District,
    Customer,
    History,
    Orders,
    NewOrder,
    OrderLine,
    Stock,
}

/// What a table is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableShape {
    pub(super) name: &'static str,
    /// Names with their types, in the order in which rows are written.
    pub(super) columns: &'static [(&'static str, &'static str)],
    /// Columns of the primary key, the warehouse first; none for the history, which has no key.
    pub(super) primary_key: &'static [&'static str],
    /// Name and columns of an index made once the rows are there.
    pub(super) index: Option<(&'static str, &'static str)>,
    /// Foreign keys: name, columns, table and columns referred to.
    pub(super) foreign_keys: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// The column that says which warehouse a row was loaded with; none for the items.
    pub(super) warehouse_column: Option<&'static str>,
}

const WAREHOUSE: &str = "INT UNSIGNED NOT NULL";
const DISTRICT: &str = "TINYINT UNSIGNED NOT NULL";
const CUSTOMER: &str = "SMALLINT UNSIGNED NOT NULL";
const NUMBER: &str = "INT UNSIGNED NOT NULL";
const SMALL: &str = "TINYINT UNSIGNED NOT NULL";
const COUNT: &str = "INT UNSIGNED NOT NULL";
const MONEY: &str = "DECIMAL(12,2) NOT NULL";
const RATE: &str = "DECIMAL(4,4) NOT NULL";
const STREET: &str = "VARCHAR(20) NOT NULL";
const STATE: &str = "CHAR(2) NOT NULL";
const ZIP: &str = "CHAR(9) NOT NULL";
const DISTRICT_INFO: &str = "CHAR(24) NOT NULL";

impl TpccTable {
    /// All tables, those that others refer to first.
    pub(super) const ALL: [TpccTable; 9] = [
        TpccTable::Item,
        TpccTable::Warehouse,
        TpccTable::District,
        TpccTable::Customer,
        TpccTable::History,
        TpccTable::Orders,
        TpccTable::NewOrder,
        TpccTable::OrderLine,
        TpccTable::Stock,
    ];

    pub(super) fn shape(self) -> &'static TableShape {
        &SHAPES[self as usize]
    }

    /// Statement that makes the table without the index and the foreign keys.
    pub(super) fn create_sql(self, settings: &TpccSettings) -> String {
        let shape = self.shape();
        let mut lines: Vec<String> =
            shape.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        if !shape.primary_key.is_empty() {
            lines.push(format!("PRIMARY KEY ({})", shape.primary_key.join(", ")));
        } else if settings.history_key {
            lines.insert(0, "h_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY".to_owned());
        }
        let partitions = shape
            .warehouse_column
            .filter(|_| settings.partitions > 1 && !shape.primary_key.is_empty())
            .map(|column| {
                format!(" PARTITION BY HASH ({column}) PARTITIONS {}", settings.partitions)
            });
        format!(
            "CREATE TABLE {} ({}) ENGINE={}{}",
            shape.name,
            lines.join(", "),
            settings.storage_engine,
            partitions.unwrap_or_default()
        )
    }
}

const SHAPES: [TableShape; 9] = [
    TableShape {
        name: "item",
        columns: &[
            ("i_id", NUMBER),
            ("i_im_id", NUMBER),
            ("i_name", "VARCHAR(24) NOT NULL"),
            ("i_price", "DECIMAL(5,2) NOT NULL"),
            ("i_data", "VARCHAR(50) NOT NULL"),
        ],
        primary_key: &["i_id"],
        index: None,
        foreign_keys: &[],
        warehouse_column: None,
    },
    TableShape {
        name: "warehouse",
        columns: &[
            ("w_id", WAREHOUSE),
            ("w_name", "VARCHAR(10) NOT NULL"),
            ("w_street_1", STREET),
            ("w_street_2", STREET),
            ("w_city", STREET),
            ("w_state", STATE),
            ("w_zip", ZIP),
            ("w_tax", RATE),
            ("w_ytd", MONEY),
        ],
        primary_key: &["w_id"],
        index: None,
        foreign_keys: &[],
        warehouse_column: Some("w_id"),
    },
    TableShape {
        name: "district",
        columns: &[
            ("d_w_id", WAREHOUSE),
            ("d_id", DISTRICT),
            ("d_name", "VARCHAR(10) NOT NULL"),
            ("d_street_1", STREET),
            ("d_street_2", STREET),
            ("d_city", STREET),
            ("d_state", STATE),
            ("d_zip", ZIP),
            ("d_tax", RATE),
            ("d_ytd", MONEY),
            ("d_next_o_id", NUMBER),
        ],
        primary_key: &["d_w_id", "d_id"],
        index: None,
        foreign_keys: &[("fk_district_warehouse", "d_w_id", "warehouse", "w_id")],
        warehouse_column: Some("d_w_id"),
    },
    TableShape {
        name: "customer",
        columns: &[
            ("c_w_id", WAREHOUSE),
            ("c_d_id", DISTRICT),
            ("c_id", CUSTOMER),
            ("c_first", "VARCHAR(16) NOT NULL"),
            ("c_middle", "CHAR(2) NOT NULL"),
            ("c_last", "VARCHAR(16) NOT NULL"),
            ("c_street_1", STREET),
            ("c_street_2", STREET),
            ("c_city", STREET),
            ("c_state", STATE),
            ("c_zip", ZIP),
            ("c_phone", "CHAR(16) NOT NULL"),
            ("c_since", "DATETIME NOT NULL"),
            ("c_credit", "CHAR(2) NOT NULL"),
            ("c_credit_lim", MONEY),
            ("c_discount", RATE),
            ("c_balance", MONEY),
            ("c_ytd_payment", MONEY),
            ("c_payment_cnt", COUNT),
            ("c_delivery_cnt", COUNT),
            ("c_data", "VARCHAR(500) NOT NULL"),
        ],
        primary_key: &["c_w_id", "c_d_id", "c_id"],
        index: Some(("customer_name", "c_w_id, c_d_id, c_last, c_first")),
        foreign_keys: &[("fk_customer_district", "c_w_id, c_d_id", "district", "d_w_id, d_id")],
        warehouse_column: Some("c_w_id"),
    },
    TableShape {
        name: "history",
        columns: &[
            ("h_c_id", CUSTOMER),
            ("h_c_d_id", DISTRICT),
            ("h_c_w_id", WAREHOUSE),
            ("h_d_id", DISTRICT),
            ("h_w_id", WAREHOUSE),
            ("h_date", "DATETIME NOT NULL"),
            ("h_amount", "DECIMAL(6,2) NOT NULL"),
            ("h_data", "VARCHAR(24) NOT NULL"),
        ],
        primary_key: &[],
        index: None,
        foreign_keys: &[
            (
                "fk_history_customer",
                "h_c_w_id, h_c_d_id, h_c_id",
                "customer",
                "c_w_id, c_d_id, c_id",
            ),
            ("fk_history_district", "h_w_id, h_d_id", "district", "d_w_id, d_id"),
        ],
        warehouse_column: Some("h_w_id"),
    },
    TableShape {
        name: "orders",
        columns: &[
            ("o_w_id", WAREHOUSE),
            ("o_d_id", DISTRICT),
            ("o_id", NUMBER),
            ("o_c_id", CUSTOMER),
            ("o_entry_d", "DATETIME NOT NULL"),
            ("o_carrier_id", "TINYINT UNSIGNED NULL"),
            ("o_ol_cnt", SMALL),
            ("o_all_local", SMALL),
        ],
        primary_key: &["o_w_id", "o_d_id", "o_id"],
        index: Some(("orders_customer", "o_w_id, o_d_id, o_c_id, o_id")),
        foreign_keys: &[(
            "fk_orders_customer",
            "o_w_id, o_d_id, o_c_id",
            "customer",
            "c_w_id, c_d_id, c_id",
        )],
        warehouse_column: Some("o_w_id"),
    },
    TableShape {
        name: "new_order",
        columns: &[("no_w_id", WAREHOUSE), ("no_d_id", DISTRICT), ("no_o_id", NUMBER)],
        primary_key: &["no_w_id", "no_d_id", "no_o_id"],
        index: None,
        foreign_keys: &[(
            "fk_new_order_orders",
            "no_w_id, no_d_id, no_o_id",
            "orders",
            "o_w_id, o_d_id, o_id",
        )],
        warehouse_column: Some("no_w_id"),
    },
    TableShape {
        name: "order_line",
        columns: &[
            ("ol_w_id", WAREHOUSE),
            ("ol_d_id", DISTRICT),
            ("ol_o_id", NUMBER),
            ("ol_number", SMALL),
            ("ol_i_id", NUMBER),
            ("ol_supply_w_id", WAREHOUSE),
            ("ol_delivery_d", "DATETIME NULL"),
            ("ol_quantity", SMALL),
            ("ol_amount", "DECIMAL(6,2) NOT NULL"),
            ("ol_dist_info", DISTRICT_INFO),
        ],
        primary_key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        index: None,
        foreign_keys: &[
            ("fk_order_line_orders", "ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"),
            ("fk_order_line_stock", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"),
        ],
        warehouse_column: Some("ol_w_id"),
    },
    TableShape {
        name: "stock",
        columns: &[
            ("s_w_id", WAREHOUSE),
            ("s_i_id", NUMBER),
            ("s_quantity", "SMALLINT NOT NULL"),
            ("s_dist_01", DISTRICT_INFO),
            ("s_dist_02", DISTRICT_INFO),
            ("s_dist_03", DISTRICT_INFO),
            ("s_dist_04", DISTRICT_INFO),
            ("s_dist_05", DISTRICT_INFO),
            ("s_dist_06", DISTRICT_INFO),
            ("s_dist_07", DISTRICT_INFO),
            ("s_dist_08", DISTRICT_INFO),
            ("s_dist_09", DISTRICT_INFO),
            ("s_dist_10", DISTRICT_INFO),
            ("s_ytd", "INT UNSIGNED NOT NULL"),
            ("s_order_cnt", COUNT),
            ("s_remote_cnt", COUNT),
            ("s_data", "VARCHAR(50) NOT NULL"),
        ],
        primary_key: &["s_w_id", "s_i_id"],
        index: None,
        foreign_keys: &[
            ("fk_stock_warehouse", "s_w_id", "warehouse", "w_id"),
            ("fk_stock_item", "s_i_id", "item", "i_id"),
        ],
        warehouse_column: Some("s_w_id"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_at_its_own_place() {
        let names: Vec<_> = TpccTable::ALL.iter().map(|table| table.shape().name).collect();
        assert_eq!(names[TpccTable::NewOrder as usize], "new_order");
        assert_eq!(names[TpccTable::Stock as usize], "stock");
        let sql = TpccTable::NewOrder.create_sql(&TpccSettings::default());
        assert!(sql.ends_with("PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=innodb"), "{sql}");
    }
}
