//! References inside a URL. Their values are data: a value cannot end its part of the URL or begin another.

use serde_json::Value;

use super::{Parts, Reference, Source, Unresolvable, resolve};

/// Returns the config of a request with every reference replaced. Values inside its `url` are
/// percent-encoded. Fails at the first reference without a value.
pub fn resolve_request<'v>(
    config: &Value,
    look: &mut dyn FnMut(&Source) -> Option<&'v Value>,
) -> Result<Value, Unresolvable> {
    let Value::Object(entries) = config else { return resolve(config, look) };
    let resolved = entries.iter().map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("url", Value::String(text)) if Reference::read(text).is_none() => {
                Value::String(url(text, look)?)
            }
            _ => resolve(value, look)?,
        };
        Ok((key.clone(), value))
    });
    Ok(Value::Object(resolved.collect::<Result<_, Unresolvable>>()?))
}

fn url<'v>(text: &str, look: &mut dyn FnMut(&Source) -> Option<&'v Value>) -> Result<String, Unresolvable> {
    let mut whole = String::new();
    let mut values: Vec<(Reference<'_>, std::ops::Range<usize>)> = Vec::new();
    for (before, reference) in Parts(text) {
        whole.push_str(before);
        let Some(reference) = reference else { continue };
        let value = match reference.follow(look)? {
            Value::String(value) => value.clone(),
            other => other.to_string(),
        };
        let begin = whole.len();
        match Part::at_the_end_of(&whole) {
            // A value at the start of a URL decides where the request goes, as the author of the graph
            // intended.
            Part::Base => whole.push_str(&value),
            Part::Authority => encode(&value, b":[]", &mut whole),
            Part::Rest => encode(&value, b"", &mut whole),
        }
        values.push((reference, begin..whole.len()));
    }
    match values.into_iter().find(|(_, place)| climbs(&whole, place)) {
        None => Ok(whole),
        Some((reference, _)) => {
            let reason = "in the path of a URL `.` and `..` lead elsewhere".to_owned();
            Err(Unresolvable { reference: reference.text.to_owned(), reason })
        }
    }
}

enum Part {
    Base,
    Authority,
    /// Path, query or fragment.
    Rest,
}

impl Part {
    fn at_the_end_of(url: &str) -> Self {
        match url.split_once("://") {
            _ if url.is_empty() => Self::Base,
            Some((_, rest)) if !rest.contains(['/', '?', '#', '\\']) => Self::Authority,
            _ => Self::Rest,
        }
    }
}

fn encode(value: &str, also: &[u8], url: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also.contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// Returns whether a value is in a path segment that means this folder or its parent.
fn climbs(url: &str, value: &std::ops::Range<usize>) -> bool {
    let path_end = url.find(['?', '#']).unwrap_or(url.len());
    if value.start == 0 || value.start >= path_end {
        return false;
    }
    let begin = url[..value.start].rfind(['/', '\\']).map_or(0, |place| place + 1);
    let end = url[value.end..path_end.max(value.end)].find(['/', '\\']).map_or(path_end, |at| value.end + at);
    let segment = url[begin..end].to_ascii_lowercase().replace("%2e", ".");
    matches!(segment.as_str(), "." | "..")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(url: &str, inputs: Value) -> Result<String, String> {
        let mut look = |_: &Source| Some(&inputs);
        let config = resolve_request(&json!({ "url": url, "body": "${$inputs.x}" }), &mut look);
        config.map(|config| config["url"].as_str().unwrap().to_owned()).map_err(|lost| lost.to_string())
    }

    #[test]
    fn a_value_stays_in_its_segment() {
        for (x, path) in [
            (json!("../../admin"), "..%2F..%2Fadmin"),
            (json!("a b?c=d#e&f"), "a%20b%3Fc%3Dd%23e%26f"),
            (json!("..\\x"), "..%5Cx"),
            (json!("50%2e"), "50%252e"),
            (json!("é"), "%C3%A9"),
            (json!(7), "7"),
            (json!("v1.2_~-"), "v1.2_~-"),
        ] {
            let url = resolved("https://a.test/orders/${$inputs.x}/lines?q=${$inputs.x}", json!({ "x": x }));
            assert_eq!(url, Ok(format!("https://a.test/orders/{path}/lines?q={path}")));
        }
    }

    #[test]
    fn a_segment_that_would_lead_elsewhere_is_refused() {
        for (url, x) in [
            ("https://a.test/orders/${$inputs.x}/lines", ".."),
            ("https://a.test/orders/${$inputs.x}", "."),
            ("https://a.test/orders/.${$inputs.x}", "."),
            ("https://a.test/orders/%2e${$inputs.x}?a", "."),
            ("https://a.test/${$inputs.x}${$inputs.x}", "."),
        ] {
            let message = resolved(url, json!({ "x": x })).unwrap_err();
            assert!(message.starts_with("`$inputs.x` leads to nothing: in the path of a URL"), "{message}");
        }
        let harmless = resolved("https://a.test/f${$inputs.x}?from=${$inputs.x}", json!({ "x": ".." }));
        assert_eq!(harmless, Ok("https://a.test/f..?from=..".to_owned()));
    }

    #[test]
    fn a_url_may_begin_with_a_value_and_a_host_may_be_one() {
        let inputs = json!({ "x": "http://a.test:80/v1", "host": "b.test:8080" });
        assert_eq!(resolved("${$inputs.x}/jobs", inputs.clone()), Ok("http://a.test:80/v1/jobs".to_owned()));
        assert_eq!(resolved("$inputs.x", inputs.clone()), Ok("http://a.test:80/v1".to_owned()));
        assert_eq!(resolved("https://${$inputs.host}/", inputs), Ok("https://b.test:8080/".to_owned()));
        let other = json!({ "x": "", "host": "a.test/x@evil.test" });
        assert_eq!(
            resolved("https://${$inputs.host}/", other),
            Ok("https://a.test%2Fx%40evil.test/".to_owned())
        );
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let config = json!({ "body": "${$inputs.x}", "headers": {"url": "${$inputs.x}"} });
        let inputs = json!({ "x": "a/b" });
        let resolved = resolve_request(&config, &mut |_| Some(&inputs)).unwrap();
        assert_eq!(resolved, json!({ "body": "a/b", "headers": {"url": "a/b"} }));
    }
}
