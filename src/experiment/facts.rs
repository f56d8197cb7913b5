//! What `meta.json` says about the server and its data.

use serde_json::json;

use super::ground::Ground;
use super::keeper::Keeper;
use crate::archive::ServerRecord;
use crate::base::Stop;

/// The server, from its own words.
///
/// # Errors
/// When no session can be opened.
pub(super) fn server(ground: &Ground, stop: &Stop) -> anyhow::Result<Option<ServerRecord>> {
    let Some(target) = ground.target() else { return Ok(None) };
    let session = target.connect(stop)?;
    Ok(Some(ServerRecord {
        product: session.identity().product.name().to_owned(),
        version: session.identity().text.clone(),
        address: target.describe(),
        cipher: session.cipher().map(|(version, suite)| format!("{version} {suite}")),
        local: target.is_local(),
        sandbox: ground.is_own(),
    }))
}

/// Adds the sizes of pool and data, in bytes, once the data are there. What the server does not tell is left out.
pub(super) fn write_data(keeper: &Keeper<'_>, ground: &Ground) {
    let session = ground.target().map(|t| t.connect(keeper.stop));
    let Some(Ok(mut session)) = session else { return };
    for (name, sql) in [
        ("pool_bytes", "select @@innodb_buffer_pool_size"),
        (
            "data_bytes",
            "select sum(data_length + index_length) from information_schema.tables \
             where table_schema = database()",
        ),
    ] {
        let number = session.scalar(sql).ok().flatten().and_then(|t| t.parse::<u64>().ok());
        if let Some(number) = number {
            keeper.writer().update(|meta| {
                meta.facts.insert(name.to_owned(), json!(number));
            });
        }
    }
}
