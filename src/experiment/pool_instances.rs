//! Instances of the buffer pool: what servers make of the number asked for, before anything is measured in vain.

use crate::base::units::{ByteSize, show_bytes};
use crate::client::{Feature, ServerIdentity};
use crate::plan::{Mistake, Mistakes, Plan, TargetPlan, VariantPlan};
use crate::server::sandbox::ServerProgram;

const INSTANCES: &str = "innodb_buffer_pool_instances";
/// Below this a pool has one instance, whatever was asked for, bytes.
const LEAST_POOL: u64 = 1 << 30;
/// A pool's chunk unless told otherwise, bytes.
const CHUNK: u64 = 128 << 20;
/// MySQL's own pool, bytes.
const POOL: u64 = 128 << 20;

/// The smallest pool, bytes, that is the same with any number of instances up to this.
pub fn least_pool_bytes(most: u64) -> u64 {
    let step = CHUNK * most.max(1);
    LEAST_POOL.div_ceil(step) * step
}

/// Whether variants that differ in the instances can differ at all on a server of ours.
///
/// # Errors
/// Why they can't; all reasons together.
pub(super) fn check_pool_instances(plan: &Plan) -> anyhow::Result<()> {
    let asked: Vec<u64> =
        plan.variants.iter().filter_map(|variant| instance_count(&variant.settings)).collect();
    let TargetPlan::Sandbox(sandbox) = &plan.target else { return Ok(()) };
    if asked.is_empty() {
        return Ok(());
    }
    let program = ServerProgram::find(sandbox.server.as_deref())?;
    let text = format!("{} {}", program.version, program.product.name());
    let identity = ServerIdentity { product: program.product, version: program.version, text };
    let pool = sandbox.pool.map(|size| size.resolve_bytes(0));
    let settings =
        |variant: &VariantPlan| [variant.settings.clone(), sandbox.settings.clone()].concat();
    let mistakes: Vec<Mistake> = match plan.variants.first() {
        Some(variant) => instance_mistakes(&identity, &asked, pool, &settings(variant)),
        None => Vec::new(),
    };
    Ok(Mistakes::check(mistakes)?)
}

fn instance_count(settings: &[(String, String)]) -> Option<u64> {
    find_setting(settings, INSTANCES)?.parse().ok()
}

fn find_setting<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let same = |given: &str| given.trim_start_matches('-').replace('-', "_") == name;
    settings.iter().rev().find(|(given, _)| same(given)).map(|(_, value)| value.as_str())
}

fn instance_mistakes(
    identity: &ServerIdentity,
    asked: &[u64],
    pool: Option<u64>,
    settings: &[(String, String)],
) -> Vec<Mistake> {
    let refuse = |why: String, hint: &str| vec![Mistake::new(INSTANCES.to_owned(), why).hint(hint)];
    if identity.feature_text(Feature::PoolInstances).is_none() {
        return refuse(
            format!(
                "{identity} has one buffer pool and silently ignores this setting: since MariaDB \
                 10.5 all values are the same server"
            ),
            "name a MySQL with --server, or sweep something else",
        );
    }
    let size = |name: &str| match find_setting(settings, name)?.parse() {
        Ok(ByteSize::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    let pool = size("innodb_buffer_pool_size").or(pool).unwrap_or(POOL);
    let chunk = size("innodb_buffer_pool_chunk_size").unwrap_or(CHUNK);
    let most = asked.iter().copied().max().unwrap_or(1);
    if most > 1 && pool < LEAST_POOL {
        return refuse(
            format!(
                "with a pool of {} there is one instance, whatever is asked for: it takes 1 GiB",
                show_bytes(pool)
            ),
            &format!("use --pool {}", ByteSize::Bytes(least_pool_bytes(most))),
        );
    }
    let step = chunk * most;
    if pool % step != 0 {
        let fit = pool.div_ceil(step) * step;
        return refuse(
            format!(
                "a pool of {} is rounded up to whole chunks of {} per instance, so it would grow \
                 with the instances",
                show_bytes(pool),
                show_bytes(chunk)
            ),
            &format!("use --pool {}", ByteSize::Bytes(fit)),
        );
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(server: &str, asked: &[u64], pool: u64, settings: &[(&str, &str)]) -> String {
        let settings: Vec<(String, String)> =
            settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let found =
            instance_mistakes(&ServerIdentity::from_greeting(server), asked, Some(pool), &settings);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_would_be_the_same_server_is_refused() {
        assert!(why("10.11.14-MariaDB", &[1, 2], 2 << 30, &[]).contains("one buffer pool"));
        assert_eq!(why("10.4.30-MariaDB", &[1, 2], 2 << 30, &[]), "");
        assert!(why("9.7.0", &[1, 4], 512 << 20, &[]).contains("takes 1 GiB"));
        assert!(why("9.7.0", &[1, 4], 1200 << 20, &[]).contains("rounded up"));
        assert_eq!(why("9.7.0", &[1, 2, 4], 1536 << 20, &[]), "");
        assert_eq!(why("9.7.0", &[1], 128 << 20, &[]), "");
        let small = [("innodb-buffer-pool-chunk-size", "16M")];
        assert_eq!(why("9.7.0", &[1, 4], 1216 << 20, &small), "");
    }

    #[test]
    fn the_least_pool_is_the_same_for_all_values() {
        assert_eq!(least_pool_bytes(1), 1 << 30);
        assert_eq!(least_pool_bytes(4), 1 << 30);
        assert_eq!(least_pool_bytes(6), 1536 << 20);
        assert_eq!(least_pool_bytes(64), 8 << 30);
    }
}
