//! The fenced blocks of a Markdown page.

pub struct Block {
    /// Text after the opening fence.
    pub kind: String,
    /// Number of its first line.
    pub line: usize,
    pub text: String,
}

/// Returns all blocks in order. A fence of four backticks may contain one of three.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let kind = line.trim_start_matches('`');
        let fence = &line[..line.len() - kind.len()];
        if fence.len() < 3 {
            continue;
        }
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence).collect();
        blocks.push(Block { kind: kind.to_owned(), line: number + 1, text: inside.join("\n") + "\n" });
    }
    blocks
}
