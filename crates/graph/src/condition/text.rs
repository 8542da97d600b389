//! Looking over the text of expressions and queries without parsing them: what is inside quotes, and what is not.

/// Every byte outside of string literals, with its place. A backslash inside of quotes protects what follows, except
/// in CEL's raw strings (`r'\\'`); three quotes come out right because an empty string is followed by a string.
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

/// How deep brackets of any kind nest; quotes are not looked into.
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

/// The longest row of one sign, `!` or `-`, outside of quotes and comments: each stands in front of the next.
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
