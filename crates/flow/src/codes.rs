//! Every code of a `.flow` diagnostic, with its title. FLOW001-019: syntax, front matter and places of
//! `await`. FLOW020-059: other errors. FLOW100-199: programs that compile, with warnings and calls that are
//! certain to throw. FLOW200-299: hints. A code never gets a second meaning.

rhythm_syntax::codes! {
    UNKNOWN_CHARACTER = Error "FLOW001" "this character means nothing here",
    OPEN_TEXT = Error "FLOW002" "a string has no closing quote",
    BAD_ESCAPE = Error "FLOW003" "this escape does not exist",
    BAD_NUMBER = Error "FLOW004" "this number cannot be read",
    OPEN_COMMENT = Error "FLOW005" "a comment has no end",
    TOO_LONG = Error "FLOW006" "the source is too long",
    AWAIT_PLACE = Error "FLOW007" "`await` cannot stand here",
    UNEXPECTED = Error "FLOW008" "something else belongs here",
    BRACKET = Error "FLOW009" "a bracket has no partner",
    RESERVED = Error "FLOW010" "a reserved word cannot be a name",
    BRACES = Error "FLOW011" "braces are missing",
    FOREIGN = Error "FLOW012" "this is not part of the language",
    PATTERN = Error "FLOW013" "this pattern is not supported",
    TARGET = Error "FLOW014" "nothing can be assigned to this",
    FORM = Error "FLOW015" "a program has another form",
    EMPTY = Error "FLOW016" "the program is empty",
    FRONT_MATTER = Error "FLOW017" "the front matter cannot be read",
    FRONT_MATTER_VALUE = Error "FLOW018" "a value of the front matter is wrong",
    TOO_DEEP = Error "FLOW020" "the program is nested too deeply",
    NESTED_TASK = Error "FLOW021" "a task cannot be started among the inputs of another",
    TASK_PLACE = Error "FLOW022" "`task(..)` cannot wait here",
    CLOSURE = Error "FLOW023" "a value cannot be a function: there are no closures",
    FUNCTION = Error "FLOW024" "a program has no functions of its own",
    CONST_ASSIGNED = Error "FLOW025" "a `const` cannot be assigned",
    NO_LOOP = Error "FLOW026" "`break` or `continue` outside of a loop",
    PATTERN_VALUE = Error "FLOW027" "a pattern needs a value",
    CONCURRENCY = Error "FLOW035" "handles are of what was started already",
    UNKNOWN_KEY = Warning "FLOW100" "the front matter has an unknown key",
    UNKNOWN_NAME = Warning "FLOW101" "a name is read that nothing assigns",
    NOT_VISIBLE = Warning "FLOW102" "a name is used where it is not known",
    UNKNOWN_MEMBER = SureToThrow "FLOW103" "the library has no such function",
    ARGUMENT_COUNT = Warning "FLOW104" "a function is given too few or too many arguments",
    NOT_A_FUNCTION = Warning "FLOW105" "something is called that is not a function",
    FUNCTION_VALUE = Warning "FLOW106" "a function of the library cannot be used as a value",
    UNREACHABLE = Warning "FLOW107" "this is never reached",
    UNUSED = Warning "FLOW108" "a variable is never read",
    NO_EFFECT = Warning "FLOW109" "this statement does nothing",
    UNKNOWN_OPTION = SureToThrow "FLOW110" "there is no such option",
    OPTION_VALUE = SureToThrow "FLOW111" "this value cannot be understood",
    CONSTANT_CONDITION = Warning "FLOW112" "a condition is always the same",
    DECLARED_TWICE = Warning "FLOW113" "a name is declared twice in one block",
    CONST_VALUE = Warning "FLOW114" "a `const` has no value",
    HANDLE_VALUE = Warning "FLOW115" "a handle is used as if it were its value",
    AWAITS_NOTHING = Warning "FLOW116" "`await` waits for nothing",
    KEY_TWICE = Warning "FLOW117" "an object has a key twice",
    HANDLE_DROPPED = Warning "FLOW118" "a statement makes a handle and drops it",
    RACE = Hint "FLOW200" "`race` ends with the first failure too",
}

/// Returns the code with this id.
pub fn find(id: &str) -> Option<&'static rhythm_syntax::Code> {
    ALL.iter().find(|code| code.id == id)
}

#[cfg(test)]
mod tests {
    use rhythm_syntax::Severity;

    use super::*;

    #[test]
    fn codes_are_in_order_and_none_is_given_twice() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn the_number_of_a_code_says_how_severe_it_is() {
        for code in ALL {
            let number: u32 = code.id.strip_prefix("FLOW").unwrap().parse().unwrap();
            let expected = match number {
                1..100 => Severity::Error,
                100..200 if code.severity == Severity::SureToThrow => Severity::SureToThrow,
                100..200 => Severity::Warning,
                _ => Severity::Hint,
            };
            assert_eq!(code.severity, expected, "{}", code.id);
            assert!(code.id.len() == 7 && !code.title.ends_with('.'), "{}", code.id);
        }
    }
}
