//! Scans the text of expressions and queries without parsing it, and separates quoted from unquoted bytes.

/// Returns every byte outside string literals, with its position. A backslash inside quotes escapes the next
/// byte, except in CEL's raw strings (`r'\\'`). Triple quotes need no special case: they read as an empty
/// string followed by a string.
pub(super) fn outside_quotes(source: &str) -> impl Iterator<Item = (usize, u8)> + '_ {
    let mut quote = None;
    let (mut escaped, mut raw, mut before) = (false, false, b' ');
    source.bytes().enumerate().filter(move |&(_, byte)| {
        let previous = std::mem::replace(&mut before, byte);
        match quote {
            None if byte == b'"' || byte == b'\'' => {
                quote = Some(byte);
                raw = matches!(previous, b'r' | b'R');
                false
            }
            None => true,
            Some(_) if escaped => {
                escaped = false;
                false
            }
            Some(open) => {
                match byte {
                    b'\\' => escaped = !raw,
                    _ if byte == open => quote = None,
                    _ => {}
                }
                false
            }
        }
    })
}

/// Returns the nesting depth of brackets of any kind, outside quotes.
pub(super) fn bracket_depth(source: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for (_, byte) in outside_quotes(source) {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns the length of the longest sequence of one sign, `!` or `-`, outside quotes and comments.
pub(super) fn longest_sign(source: &str) -> usize {
    let (mut longest, mut length, mut before, mut comment) = (0, 0, b' ', false);
    for (_, byte) in outside_quotes(source) {
        comment = (comment || (before == b'/' && byte == b'/')) && byte != b'\n';
        length = match byte {
            b'!' | b'-' if comment => 0,
            b'!' | b'-' if byte == before => length + 1,
            b'!' | b'-' => 1,
            byte if byte.is_ascii_whitespace() => continue,
            _ => 0,
        };
        longest = longest.max(length);
        before = byte;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_inside_quotes_do_not_count() {
        assert_eq!(bracket_depth("a[(b)]"), 2);
        assert_eq!(bracket_depth("'((((' + \"[[\\\"[[\" + (a)"), 1);
        assert_eq!(bracket_depth("'''((' '((''' + {[("), 3);
        assert_eq!(bracket_depth("r'\\' + (("), 2);
        assert_eq!(bracket_depth(")))"), 0);
    }

    #[test]
    fn signs_count_that_stand_in_front_of_one_another() {
        assert_eq!(longest_sign("!!a && !b"), 2);
        assert_eq!(longest_sign("1 - - \n-1"), 3);
        assert_eq!(longest_sign("'!!!' + -a // ------"), 1);
        assert_eq!(longest_sign("// ------\n--a"), 2);
        assert_eq!(longest_sign("a != !b"), 1);
    }
}
