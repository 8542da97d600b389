//! Shows two sources side by side: equal lines are aligned, and given lines are marked.

/// Number of lines shown around marked ones when a source is long.
const AROUND: usize = 3;
/// Longer lines are cut, so that both sources fit.
const WIDTH: usize = 58;
/// Sources with more lines than this are not compared line by line.
const COMPARED: usize = 2_000;

/// Returns two columns of line numbers and text, the old source on the left. Lines count from 1.
pub fn side_by_side((old, old_marked): (&str, &[u32]), (new, new_marked): (&str, &[u32])) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let rows = facing(&old, &new);
    let is_marked = |row: &Row| {
        let holds = |lines: &[u32], place: Option<usize>| {
            place.is_some_and(|place| lines.contains(&(place as u32 + 1)))
        };
        holds(old_marked, row.0) || holds(new_marked, row.1)
    };
    let matters = |row: &Row| is_marked(row) || row.0.is_none() || row.1.is_none();
    let near = |place: usize| {
        let first = place.saturating_sub(AROUND);
        rows.get(first..(place + AROUND + 1).min(rows.len())).is_some_and(|rows| rows.iter().any(matters))
    };
    let mut text = format!("    {:<width$} | the new version", "what the run goes by", width = WIDTH + 2);
    let mut skipped = false;
    for (place, row) in rows.iter().enumerate() {
        if !near(place) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("\n    ...");
        }
        let left = side(&old, row.0, old_marked);
        let right = side(&new, row.1, new_marked);
        text.push_str(format!("\n{left:<width$} | {right}", width = WIDTH + 6).trim_end());
    }
    text
}

/// Line indices of two aligned lines.
type Row = (Option<usize>, Option<usize>);

fn side(lines: &[&str], place: Option<usize>, marked: &[u32]) -> String {
    let Some(place) = place else { return String::new() };
    let number = place as u32 + 1;
    let sign = if marked.contains(&number) { '>' } else { ' ' };
    let line = lines.get(place).copied().unwrap_or_default().replace('\t', "  ");
    let cut: String = line.chars().take(WIDTH - 4).collect();
    format!("{sign}{number:>4} {cut}")
}

/// Aligns the longest common subsequence of lines; a line of only one source is aligned with nothing.
fn facing(old: &[&str], new: &[&str]) -> Vec<Row> {
    if old.len() > COMPARED || new.len() > COMPARED {
        return (0..old.len().max(new.len()))
            .map(|place| (Some(place).filter(|p| *p < old.len()), Some(place).filter(|p| *p < new.len())))
            .collect();
    }
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i].trim() == new[j].trim() {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut rows) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let is_same = i < old.len() && j < new.len() && old[i].trim() == new[j].trim();
        if is_same {
            rows.push((Some(i), Some(j)));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            rows.push((Some(i), None));
            i += 1;
        } else {
            // A changed line is aligned with its replacement.
            match rows.last_mut() {
                Some(last) if last.1.is_none() => last.1 = Some(j),
                _ => rows.push((None, Some(j))),
            }
            j += 1;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_face_each_other_and_the_place_is_marked() {
        let old = "let a = 1\nawait task(\"x\")\nreturn a";
        let new = "let a = 1\nlet b = 2\nawait task(\"y\")\nreturn a";
        let shown = side_by_side((old, &[2]), (new, &[3]));
        let lines: Vec<String> =
            shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "what the run goes by | the new version",
                "1 let a = 1 | 1 let a = 1",
                "> 2 await task(\"x\") | 2 let b = 2",
                "| > 3 await task(\"y\")",
                "3 return a | 4 return a",
            ]
        );
    }

    #[test]
    fn of_long_sources_only_what_matters_is_shown() {
        let old: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
        let old = old.join("\n");
        let new = old.replace("line 50\n", "");
        let shown = side_by_side((&old, &[50]), (&new, &[]));
        assert_eq!(shown.lines().count(), 9, "{shown}");
        assert!(shown.contains(">  50 line 50") && shown.contains("..."), "{shown}");
    }
}
