//! No program overflows the stack or exhausts the memory of its host. The tests run on threads with a small
//! stack.

use super::*;

/// Runs on a stack of one mebibyte.
#[allow(clippy::disallowed_methods)]
fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    // The thread only provides the small stack; the result does not depend on it.
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_deepest_expressions_are_evaluated_on_a_small_stack() {
    on_small_stack(|| {
        // Every precedence between two brackets, nested as deep as the parser allows.
        let levels = 60;
        let open = "(null ?? 0 || 1 && 1 == 1 + 0 * ";
        let mut source = format!("let a = [1]\nreturn {}a[0]{}", open.repeat(levels), ")".repeat(levels));
        let ended = Rehearsal::of(&source).start("null");
        assert!(ended.end.is_some());
        for (open, inner, close) in [
            ("[", "1", "]"),
            ("{ a: ", "1", "}"),
            ("- ", "1", ""),
            ("!", "1", ""),
            ("(", "1", ")"),
            ("Math.abs(", "1", ")"),
            ("a[", "0", "]"),
            ("true ? ", "1", " : 0"),
            ("[1].concat(", "[]", ")"),
            ("a?.concat(", "[]", ")"),
        ] {
            let levels = 62;
            source = format!("let a = [0]\nreturn {}{inner}{}", open.repeat(levels), close.repeat(levels));
            let ended = Rehearsal::of(&source).start("null");
            assert!(matches!(ended.end, Some(End::Completed(_))), "{open}: {:?}", ended.end);
        }
    });
}

#[test]
fn the_deepest_statements_run_on_a_small_stack() {
    on_small_stack(|| {
        for (open, close) in [
            ("{ ", "}"),
            ("if (true) { ", "}"),
            ("for (let x of [1]) { ", "}"),
            ("try { ", "} catch { }"),
            ("try { throw \"x\" } catch (e) { ", "}"),
            ("while (true) { ", "break }"),
        ] {
            let source = format!("let n = 0\n{}n = n + 1 {}\nreturn n", open.repeat(60), close.repeat(60));
            assert_eq!(output(&Rehearsal::of(&source).start("null")), "1", "{open}");
        }
    });
}

#[test]
fn the_deepest_values_are_compared_copied_stored_and_dropped_on_a_small_stack() {
    on_small_stack(|| {
        let mut run = Rehearsal::of(
            "let x = 0\nlet y = 0\nlet n = 0\nwhile (n < 99) { x = { a: [x].first() } y = { a: y } n = n + 1 }\nlet same \
             = x == y && [x, y].unique().length == 1\nawait task(\"a\", x)\nx.a.a = 5\nreturn [same, x, JSON.stringify(y).length]",
        );
        run.start("null");
        assert_eq!(output(&run.complete(1, "null")), "[true,{\"a\":{\"a\":5}},595]");
    });
}

#[test]
fn a_long_path_is_walked_not_climbed() {
    on_small_stack(|| {
        let path = ".a".repeat(100_000);
        let ended = Rehearsal::of(&format!("let x = {{ a: 1 }}\nreturn x{path}")).start("null");
        assert_eq!(failure_code(&ended), "TYPE_ERROR");
        let ended = Rehearsal::of(&format!("let x = {{ a: 1 }}\nx{path} = 1")).start("null");
        assert_eq!(failure_code(&ended), "TYPE_ERROR");
        let ended = Rehearsal::of(&format!("return 0{}", " + 1".repeat(100_000))).start("null");
        assert_eq!(output(&ended), "100000");
    });
}

#[test]
fn groups_of_groups_settle_on_a_small_stack() {
    on_small_stack(|| {
        let mut run = Rehearsal::of(
            "let h = Task.run(\"a\", {})\nlet n = 0\nwhile (n < 5000) { h = Promise.race([h, h]) n = n + 1 }\nlet x = await \
             h\nreturn x",
        );
        run.start("null");
        assert_eq!(output(&run.complete(1, "7")), "7");
        let mut run = Rehearsal::of(
            "let h = Task.run(\"a\", {})\nlet n = 0\nwhile (n < 60) { h = Promise.all([h, h]) n = n + 1 }\nlet x = await \
             h\nreturn x",
        );
        run.start("null");
        assert_eq!(failure_code(&run.complete(1, "7")), "LIMIT_EXCEEDED");
    });
}

#[test]
fn large_programs_compile_and_run_in_time() {
    let mut many = String::new();
    for number in 0..30_000 {
        many.push_str(&format!("n{number}=1 "));
    }
    assert_eq!(output(&Rehearsal::of(&format!("{many}\nreturn n5 + n29999")).start("null")), "2");
    let tries = "try { throw 1 } catch { } ".repeat(20_000);
    assert_eq!(output(&Rehearsal::of(&format!("{tries} return 1")).start("null")), "1");
}

/// Each of these would take minutes if the repeated operation were not charged.
#[test]
fn what_is_repeated_is_paid_for() {
    let huge = "let s = \"0123456789abcdef\"\nlet n = 0\nwhile (n < 18) { s = s + s n = n + 1 }\n";
    for round in [
        "let o = {}\nwhile (true) { try { o[s] } catch { } }",
        "let o = {}\no[s] = 1\nwhile (true) { Object.has(o, s) }",
        "while (true) { try { throw s } catch (e) { } }",
        "while (true) { try { Timer.delay(s) } catch { } }",
        "while (true) { try { Task.run(s, {}) } catch { } }",
        "while (true) { try { JSON.parse(s) } catch { } }",
        "while (true) { s.length }",
        "while (true) { s.upper() }",
        "while (true) { s.split(\"\") }",
        "while (true) { s == s + \"\" }",
        "while (true) { [{ a: s }].pluck(\"a\").includes(1) }",
        "while (true) { log(s) }",
        "let l = s.split(\"f\")\nwhile (true) { l.sortBy(\"x\") }",
    ] {
        let mut run = Rehearsal::of(&format!("{huge}{round}"));
        let code = failure_code(&run.start("null")).to_owned();
        assert!(["LIMIT_EXCEEDED", "TYPE_ERROR"].contains(&&*code), "{round}: {code}");
    }
    let handles = "let t = Task.run(\"a\", {})\nlet l = []\nlet n = 0\nwhile (n < 5000) { l[n] = Timer.delay(1) n = n + 1 }\nlet big = \
                   Promise.race(l)\nlet x = await t\nwhile (true) { Promise.race([t, big]) }";
    let mut run = Rehearsal::of(handles);
    run.start("null");
    assert_eq!(failure_code(&run.complete(1, "1")), "LIMIT_EXCEEDED");
}
