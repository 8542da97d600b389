//! Finds runs that nothing will wake up and writes a warning into their history.

use rhythm_core::event::{EventData, Warning};
use rhythm_core::{Actor, Millis};

use crate::process::Process;
use crate::world::{Control, ControlRequest, Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(60);
/// Time after which a run with nothing open that could wake it up is reported.
const IDLE: Millis = Millis::from_secs(5 * 60);
const LIMIT: usize = 100;

pub async fn run(process: &Process) -> WorldResult<()> {
    let report = process.world.upkeep(Upkeep::FindStuck { idle: IDLE, limit: LIMIT }).await?;
    for (tenant, run) in report.stuck {
        tracing::warn!(%run, "nothing will wake this run up");
        let event = EventData::Warning(Warning {
            code: "STUCK".into(),
            message: "the run waits, but nothing that is open can wake it up".into(),
        });
        let request =
            ControlRequest { tenant, actor: Actor::system(), control: Control::Annotate { run, event } };
        process.world.control(request).await?;
    }
    Ok(())
}
