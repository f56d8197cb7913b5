//! What the tables hold that a load is to work on.

use super::load;
use super::load_record::LoadRecord;
use super::nonuniform::NonUniformConstants;
use super::options::{SqlVariant, TpccSettings};
use super::transactions::procedures;
use crate::base::Stop;
use crate::client::{Error, Session, Target};
use crate::plan::Mistake;

/// The server's number for a table that is not there.
const NO_SUCH_TABLE: u16 = 1146;

/// What the tables hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundData {
    pub(super) warehouses: u32,
    pub(super) constants: NonUniformConstants,
}

impl FoundData {
    /// What a load would make.
    pub(super) fn planned(settings: &TpccSettings) -> FoundData {
        FoundData {
            warehouses: settings.prepared_warehouses(),
            constants: NonUniformConstants::from_seed(0),
        }
    }

    /// Looks at the tables; makes the procedures where the load calls some.
    ///
    /// # Errors
    /// When they are missing or hold fewer warehouses than asked, or the server refuses.
    pub(super) fn read(
        target: &Target,
        settings: &TpccSettings,
        stop: &Stop,
    ) -> anyhow::Result<FoundData> {
        let mut session = target.connect(stop)?;
        let there = count_warehouses(&mut session)?;
        let advice = |warehouses: u32| {
            format!("sweat bench tpcc prepare --warehouses={}", warehouses.max(1))
        };
        let warehouses = match there {
            None | Some(0) => {
                let mistake = Mistake::new("table warehouse", "there are no warehouses");
                return Err(mistake.hint(advice(settings.warehouses)).into());
            }
            Some(there) if there < settings.warehouses => {
                let why = match there {
                    1 => format!("there is 1 warehouse, not {}", settings.warehouses),
                    _ => format!("there are {there} warehouses, not {}", settings.warehouses),
                };
                let mistake = Mistake::new("--warehouses", why);
                return Err(mistake.hint(advice(settings.warehouses)).into());
            }
            Some(there) if settings.warehouses == 0 => there,
            Some(_) => settings.warehouses,
        };
        load::check_finished(&mut session, warehouses)?;
        let record = LoadRecord::read(&mut session)?;
        if settings.sql == SqlVariant::Procedures {
            procedures::create_procedures(&mut session)?;
        }
        let constants =
            record.map_or_else(|| NonUniformConstants::from_seed(0), |record| record.constants);
        Ok(FoundData { warehouses, constants })
    }
}

/// How many warehouses there are, numbered from 1 without gaps; `None` without the table.
fn count_warehouses(session: &mut Session) -> anyhow::Result<Option<u32>> {
    let rows = match session.query_rows("SELECT COUNT(*), COALESCE(MAX(w_id), 0) FROM warehouse") {
        Err(Error::Server { code: NO_SUCH_TABLE, .. }) => return Ok(None),
        other => other?,
    };
    let number = |column| -> Option<u32> { rows.text_value(0, column)?.parse().ok() };
    match (number(0), number(1)) {
        (Some(count), Some(last)) if count == last => Ok(Some(count)),
        _ => {
            let mistake = Mistake::new("table warehouse", "its rows are not numbered from 1 on");
            Err(mistake.hint("sweat bench tpcc cleanup, then prepare").into())
        }
    }
}
