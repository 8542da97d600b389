//! The fenced blocks of a Markdown page.

pub struct Block {
    /// What stands behind the fence.
    pub kind: String,
    /// Where it begins.
    pub line: usize,
    pub text: String,
}

/// All blocks in order. A fence of four backticks holds one of three.
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
