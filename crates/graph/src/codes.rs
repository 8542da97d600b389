//! Codes of diagnostics about graphs, with their titles: GRAPH001-009 for the document's form, GRAPH010-059
//! for its content, GRAPH100-199 for warnings. A code is never reused for another meaning.

rhythm_syntax::codes! {
    UNREADABLE = Error "GRAPH001" "the graph cannot be read",
    TOO_LARGE = Error "GRAPH002" "the graph is too large",
    FORM = Error "GRAPH003" "a graph has another form",
    VALUE = Error "GRAPH004" "a value cannot be used",
    MISTYPED_KEY = Error "GRAPH005" "a key is mistyped",
    EMPTY = Error "GRAPH006" "the graph has no nodes",
    BAD_ID = Error "GRAPH010" "a node has no usable id",
    DUPLICATE_ID = Error "GRAPH011" "two nodes have the same id",
    UNKNOWN_NODE = Error "GRAPH012" "something leads to a node that does not exist",
    NO_ENTRY = Error "GRAPH013" "the graph has no entry node",
    NO_TERMINAL = Error "GRAPH014" "the graph has no terminal node",
    CYCLE = Error "GRAPH015" "nodes form a cycle that no loop closes",
    MAX_ITERATIONS = Error "GRAPH016" "a loop does not say how often it may go round",
    EMPTY_BRANCH = Error "GRAPH017" "a branch has neither rules nor a default",
    UNKNOWN_TYPE = Error "GRAPH018" "a node has an unknown type",
    CONDITION = Error "GRAPH019" "a condition does not compile",
    CONFIG = Error "GRAPH020" "a config does not fit its type",
    FANOUT = Error "GRAPH021" "a node emits more tokens than the limit allows",
    LOOP_BACK = Error "GRAPH022" "a loop goes back to a node that is not earlier",
    INPUTS = Error "GRAPH023" "`inputs` is not a JSON Schema",
    TWO_BRANCHES = Error "GRAPH024" "a node has two ways to choose where its tokens go",
    UNSUPPORTED = Error "GRAPH025" "a node asks for what its type does not support",
    MISTAKEN_REFERENCE = Error "GRAPH026" "a text looks like a reference and is none",
    FILE = Error "GRAPH027" "a file that a graph refers to is not there",
    UNRESOLVED = Warning "GRAPH100" "content is not there",
    UNKNOWN_KEY = Warning "GRAPH101" "a key means nothing here",
    NEVER_SENDS = Warning "GRAPH102" "a dependency never sends anything",
    NOT_ALLOWED = Warning "GRAPH103" "a node emits where it may not",
    UNREACHABLE = Warning "GRAPH104" "a node is never reached",
    UNKNOWN_REFERENCE = Warning "GRAPH105" "a config refers to a node that does not exist",
    NO_TYPE = Warning "GRAPH106" "a node names no type",
    UNGUARDED = Warning "GRAPH109" "a condition denies a field that may be missing",
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
    fn codes_are_in_order_and_their_numbers_say_how_severe_they_are() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
        for code in ALL {
            let number: u32 = code.id.strip_prefix("GRAPH").unwrap().parse().unwrap();
            let expected = if number < 100 { Severity::Error } else { Severity::Warning };
            assert!(code.severity == expected && code.id.len() == 8, "{}", code.id);
        }
        assert_eq!(find("GRAPH015"), Some(&CYCLE));
    }
}
