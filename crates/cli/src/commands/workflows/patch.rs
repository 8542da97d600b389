use clap::Args;
use rhythm_engine::patches::{Change, PatchWorkflow, Proposal};
use serde_json::json;

use super::versions::short_version;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::session::Session;

/// Make a new version of a graph by a patch, and make that current or move a tag to it
#[derive(Debug, Args)]
#[command(after_help = "\
A patch is an RFC 6902 list over the document of the graph. It is applied to a copy and compiled; nothing is registered when \
that fails, and everything that is wrong is said at once. The new version is stored as JSON, whatever the old one was written \
in. With --tag it is made of the version the tag points at, and the tag moves; otherwise of the current version, and becomes \
current. Of two patches of the same version one wins and the other is told (exit code 4). Runs that are under way keep the \
version they started with.")]
pub struct Patch {
    /// The workflow; may be left out with --tag
    #[arg(value_name = "NAME", required_unless_present = "tag")]
    workflow: Option<String>,
    /// The operations: JSON, @FILE, or - for standard input
    #[arg(value_name = "OPERATIONS")]
    operations: Option<String>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["dry_run", "undo"])]
    reason: Option<String>,
    /// Patch the version this tag points at, and move the tag
    #[arg(long)]
    tag: Option<String>,
    /// Refuse unless this is the version that would be patched
    #[arg(long, value_name = "VERSION")]
    expect: Option<String>,
    /// Take back this patch, as `workflows patches` numbers them
    #[arg(long, value_name = "N", conflicts_with = "operations")]
    undo: Option<u64>,
    /// Say what would change; register nothing
    #[arg(long)]
    dry_run: bool,
}

impl Patch {
    pub async fn run(self, settings: Settings) -> CliResult {
        // With a tag, a single argument is the operations.
        let (workflow, operations) = match (self.workflow, self.operations, self.undo) {
            (Some(only), None, None) if self.tag.is_some() => (String::new(), Some(only)),
            (workflow, operations, _) => (workflow.unwrap_or_default(), operations),
        };
        let change = match (operations, self.undo) {
            (None, Some(number)) => Change::Undo(number),
            (Some(given), None) => Change::Operations(input::json("OPERATIONS", &given)?),
            _ => {
                return Err(crate::errors::CliError::Usage(
                    "name the operations, or --undo a patch".to_owned(),
                ));
            }
        };
        let session = Session::open(&settings).await?;
        let client = &session.client;
        let expected = match &self.expect {
            Some(named) => {
                let name = match (&self.tag, workflow.is_empty()) {
                    (Some(tag), true) => client.tagged(tag).await?.0.workflow,
                    _ => workflow.clone(),
                };
                Some(client.select_version(&name, named).await?)
            }
            None => None,
        };
        let undoes = self.undo.map(|number| format!("undoes patch {number}"));
        let reason = self.reason.or(undoes).unwrap_or_default();
        let wish = PatchWorkflow { workflow, tag: self.tag.clone(), expected, change, reason };
        let proposal = client.propose_version(wish).await?;
        if !session.out.is_json() && !session.out.is_quiet() && !proposal.remarks.is_empty() {
            let told = rhythm_graph::patch::told(&proposal.source, &proposal.remarks);
            session.out.complain(&told);
        }
        let told = Told::of(&proposal, self.tag);
        if !self.dry_run {
            client.adopt_version(proposal).await?;
        }
        told.tell(&session, self.dry_run)
    }
}

/// Description of a proposed version, made before the proposal is used up.
struct Told {
    text: String,
    lines: Vec<String>,
    json: serde_json::Value,
}

impl Told {
    fn of(proposal: &Proposal, tag: Option<String>) -> Self {
        let Proposal { workflow, base, version, changes, .. } = proposal;
        let moves = match &tag {
            Some(tag) => format!("tag {tag} of {workflow}"),
            None => workflow.clone(),
        };
        Self {
            text: format!("{moves}: {} -> {}", short_version(base), short_version(version)),
            lines: changes.lines(),
            json: json!({
                "workflow": workflow, "tag": tag, "base": base, "version": version, "changes": changes,
            }),
        }
    }

    fn tell(mut self, session: &Session, dry_run: bool) -> CliResult {
        if session.out.is_json() {
            self.json["dry_run"] = json!(dry_run);
            return session.out.json(&self.json);
        }
        let would = if dry_run { "would be patched" } else { "patched" };
        session.out.line(format!("{would}, {}", self.text))?;
        self.lines.iter().try_for_each(|line| session.out.styled(&session.out.changed(line)))
    }
}
