//! Checks the text of a cron rule field by field before croner reads it. croner accepts `SUN` as a minute,
//! reads `1MON` as 11, and accepts an empty list item, whose search then runs for many seconds.

use super::CronError;

struct Field {
    name: &'static str,
    low: u16,
    high: u16,
    names: &'static [&'static str],
    example: &'static str,
}

const MONTHS: &[&str] =
    &["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const DAY_OF_MONTH: &str = "day of month";
const DAY_OF_WEEK: &str = "day of week";

const FIELDS: [Field; 6] = [
    Field { name: "second", low: 0, high: 59, names: &[], example: "0 or */10" },
    Field { name: "minute", low: 0, high: 59, names: &[], example: "30 or */15" },
    Field { name: "hour", low: 0, high: 23, names: &[], example: "9 or 8-18" },
    Field { name: DAY_OF_MONTH, low: 1, high: 31, names: &[], example: "1 or L for the last day" },
    Field { name: "month", low: 1, high: 12, names: MONTHS, example: "1 or JAN-MAR" },
    Field {
        name: DAY_OF_WEEK,
        low: 0,
        high: 7,
        names: DAYS,
        example: "MON-FRI or 5#2 for the second Friday",
    },
];

/// A rule whose text passed all checks.
pub(super) struct Rule {
    /// Six numeric fields, in croner's syntax.
    pub(super) normal: String,
    /// The time of day is given by plain numbers, so this is a fixed-time rule.
    pub(super) fixed: bool,
}

pub(super) fn check(text: &str) -> Result<Rule, CronError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CronError::Empty);
    }
    let text = match text.strip_prefix('@') {
        Some(alias) => expand(alias).ok_or_else(|| CronError::UnknownAlias(text.to_owned()))?,
        None => text,
    };
    let mut parts: Vec<&str> = text.split_whitespace().collect();
    match parts.len() {
        5 => parts.insert(0, "0"),
        6 => {}
        count => return Err(CronError::FieldCount { text: text.to_owned(), count }),
    }
    let mut normal = Vec::with_capacity(6);
    for (field, part) in FIELDS.iter().zip(&parts) {
        normal.push(field.check(part)?);
    }
    let fixed = normal[..3].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit() || b == b','));
    Ok(Rule { normal: normal.join(" "), fixed })
}

fn expand(alias: &str) -> Option<&'static str> {
    let rules = [
        ("hourly", "0 * * * *"),
        ("daily", "0 0 * * *"),
        ("weekly", "0 0 * * 0"),
        ("monthly", "0 0 1 * *"),
        ("yearly", "0 0 1 1 *"),
    ];
    rules.iter().find(|(name, _)| name.eq_ignore_ascii_case(alias)).map(|(_, rule)| *rule)
}

impl Field {
    fn wrong(&self, part: &str, reason: impl Into<String>) -> CronError {
        CronError::Field {
            field: self.name,
            part: part.to_owned(),
            reason: reason.into(),
            example: self.example,
        }
    }

    /// Returns the field with its names replaced by numbers.
    fn check(&self, part: &str) -> Result<String, CronError> {
        let is_day = self.name == DAY_OF_MONTH || self.name == DAY_OF_WEEK;
        if part == "*" || (part == "?" && is_day) {
            return Ok("*".to_owned());
        }
        let items: Result<Vec<String>, CronError> = part.split(',').map(|item| self.item(item)).collect();
        let items = items?;
        // croner would ignore the L.
        if items.iter().any(|item| item == "L") && items.iter().any(|item| item == "LW") {
            return Err(self.wrong(part, "L and LW cannot stand together"));
        }
        Ok(items.join(","))
    }

    fn item(&self, item: &str) -> Result<String, CronError> {
        if item.is_empty() {
            return Err(self.wrong(item, "a list item is empty"));
        }
        if let Some(special) = self.special(item)? {
            return Ok(special);
        }
        let Some((range, step)) = item.split_once('/') else {
            return self.range(item);
        };
        let low_step = step.bytes().all(|b| b.is_ascii_digit()).then(|| step.parse::<u16>().ok()).flatten();
        let Some(step) = low_step.filter(|step| (1..=self.high).contains(step)) else {
            return Err(self.wrong(item, format!("the step must be a number from 1 to {}", self.high)));
        };
        if range == "*" {
            return Ok(format!("*/{step}"));
        }
        if !range.contains('-') {
            return Err(self.wrong(item, format!("a step needs a range: write {range}-{}/{step}", self.high)));
        }
        Ok(format!("{}/{step}", self.range(range)?))
    }

    /// Parses `L`, `LW` and `15W` for days of the month, and `5L` and `5#2` for days of the week.
    fn special(&self, item: &str) -> Result<Option<String>, CronError> {
        let upper = item.to_ascii_uppercase();
        if self.name == DAY_OF_MONTH {
            if upper == "L" || upper == "LW" {
                return Ok(Some(upper));
            }
            if let Some(day) = upper.strip_suffix('W') {
                return Ok(Some(format!("{}W", self.number(day)?)));
            }
        }
        if self.name == DAY_OF_WEEK {
            if let Some((day, nth)) = upper.split_once('#') {
                if !matches!(nth, "1" | "2" | "3" | "4" | "5") {
                    return Err(self.wrong(item, "after # comes a number from 1 to 5"));
                }
                return Ok(Some(format!("{}#{nth}", self.number(day)? % 7)));
            }
            // croner accepts a bare L here and then never matches it.
            if upper == "L" {
                return Err(self.wrong(item, "L needs a day before it, such as 5L for the last Friday"));
            }
            if let Some(day) = upper.strip_suffix('L') {
                return Ok(Some(format!("{}L", self.number(day)? % 7)));
            }
        }
        Ok(None)
    }

    fn range(&self, range: &str) -> Result<String, CronError> {
        let Some((first, last)) = range.split_once('-') else {
            return Ok(self.number(range)?.to_string());
        };
        let from = self.number(first)?;
        let mut to = self.number(last)?;
        // A week may end on Sunday: FRI-SUN is 5-7.
        if self.name == DAY_OF_WEEK && to == 0 && from > 0 {
            to = 7;
        }
        if from > to {
            let split = format!("{from}-{},{}-{to}", self.high, self.low);
            return Err(self.wrong(range, format!("a range cannot run backwards: write {split}")));
        }
        Ok(format!("{from}-{to}"))
    }

    fn number(&self, text: &str) -> Result<u16, CronError> {
        let named = self.names.iter().position(|name| !name.is_empty() && name.eq_ignore_ascii_case(text));
        if let Some(index) = named {
            return Ok(index as u16);
        }
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.wrong(text, "a number is expected"));
        }
        match text.parse::<u16>() {
            Ok(number) if (self.low..=self.high).contains(&number) => Ok(number),
            _ => Err(self.wrong(text, format!("the number must be from {} to {}", self.low, self.high))),
        }
    }
}
