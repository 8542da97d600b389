//! Checks that the reference in `docs/` equals the help texts of the command.

mod rig;

use rig::Rig;

#[test]
fn the_reference_is_up_to_date() {
    let written = Rig::sqlite().ok(&["reference"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored.trim_end() == written,
        "docs/reference/cli.md is not what the command says; write it again with: \
         cargo run -p rhythm-cli -- reference > docs/reference/cli.md"
    );
}
