//! What an experiment stands on: no server, one that runs already, or a throw-away one of our own.

use anyhow::Context;

use super::waits;
use crate::base::Stop;
use crate::client::Target;
use crate::plan::{AddressPlan, Plan, TargetPlan};
use crate::server::ServerControl;
use crate::server::sandbox::{HomeFolders, Lifetime, Sandbox, SandboxOptions};

/// The database of a sandbox; the name that users of sysbench expect.
const DATABASE: &str = "sbtest";

/// The ground under a run.
pub(super) struct SystemUnderTest {
    target: Option<Target>,
    control: Option<Box<dyn ServerControl>>,
}

impl SystemUnderTest {
    /// Starts or finds the server that the plan names.
    ///
    /// # Errors
    /// When it can't be started, or its name can't be resolved.
    pub(super) fn from_plan(plan: &Plan, stop: &Stop) -> anyhow::Result<SystemUnderTest> {
        match &plan.target {
            TargetPlan::None => Ok(SystemUnderTest { target: None, control: None }),
            TargetPlan::Address(address) => {
                Ok(SystemUnderTest { target: Some(Target::new(address)?), control: None })
            }
            TargetPlan::Sandbox(sandbox) => {
                let home = HomeFolders::find()?;
                let terms = SandboxOptions {
                    home,
                    name: None,
                    life: Lifetime::ThrowAway,
                    stop: stop.clone(),
                };
                let sandbox = match &plan.waits {
                    Some(_) => &waits::with_performance_schema(sandbox),
                    None => sandbox,
                };
                SystemUnderTest::from_control(Box::new(Sandbox::create(sandbox, &terms)?), stop)
            }
        }
    }

    /// A server of our own, with a database to work in.
    fn from_control(
        control: Box<dyn ServerControl>,
        stop: &Stop,
    ) -> anyhow::Result<SystemUnderTest> {
        let mut session = control.target().connect(stop)?;
        session
            .run_command(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))
            .context("make a database in the sandbox")?;
        let database = Some(DATABASE.to_owned());
        let address = AddressPlan { database, ..control.target().plan().clone() };
        let target = control.target().with_plan(&address)?;
        Ok(SystemUnderTest { target: Some(target), control: Some(control) })
    }

    /// How to talk to the server, if there is one.
    pub(super) fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// The server's process, if we started it.
    pub(super) fn server_pid(&self) -> Option<u32> {
        self.control.as_ref().and_then(|control| control.pid())
    }

    /// Whether we started it.
    pub(super) fn is_own(&self) -> bool {
        self.control.is_some()
    }

    /// The server, if it is ours to change.
    pub(super) fn control(&mut self) -> Option<&mut (dyn ServerControl + 'static)> {
        self.control.as_deref_mut()
    }
}
