//! Numbers: exact 64-bit integers while they fit, otherwise doubles. Each number has exactly one form: a
//! whole double that fits becomes an integer, so equal numbers have equal forms. NaN and infinity do not
//! exist.

use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Integer(i64),
    /// Finite, and not a whole number that fits in an integer.
    Float(f64),
}

/// 2^63, the first double above every integer; its negative is the smallest integer.
const ABOVE_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// Converts a double; `None` for one that JSON cannot represent.
    pub fn of(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        if number.trunc() == number && (-ABOVE_INTEGERS..ABOVE_INTEGERS).contains(&number) {
            return Some(Self::Integer(number as i64));
        }
        Some(Self::Float(number))
    }

    /// Reads a number in the syntax of programs and JSON.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse::<i64>() {
            Ok(integer) => Some(Self::Integer(integer)),
            Err(_) => text.parse::<f64>().ok().and_then(Self::of),
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    pub fn is_zero(self) -> bool {
        self == Self::Integer(0)
    }

    pub fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => match a.checked_add(b) {
                Some(sum) => Some(Self::Integer(sum)),
                None => Self::of(a as f64 + b as f64),
            },
            _ => Self::of(self.as_f64() + other.as_f64()),
        }
    }

    pub fn minus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => match a.checked_sub(b) {
                Some(difference) => Some(Self::Integer(difference)),
                None => Self::of(a as f64 - b as f64),
            },
            _ => Self::of(self.as_f64() - other.as_f64()),
        }
    }

    pub fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => match a.checked_mul(b) {
                Some(product) => Some(Self::Integer(product)),
                None => Self::of(a as f64 * b as f64),
            },
            _ => Self::of(self.as_f64() * other.as_f64()),
        }
    }

    pub fn over(self, other: Self) -> Option<Self> {
        if let (Self::Integer(a), Self::Integer(b)) = (self, other)
            && let (Some(quotient), Some(0)) = (a.checked_div(b), a.checked_rem(b))
        {
            return Some(Self::Integer(quotient));
        }
        Self::of(self.as_f64() / other.as_f64())
    }

    /// Returns the remainder, with the sign of the left side as in JavaScript.
    pub fn remainder(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Integer(_), Self::Integer(0)) => None,
            (Self::Integer(a), Self::Integer(b)) => Some(Self::Integer(a.checked_rem(b).unwrap_or(0))),
            _ => Self::of(self.as_f64() % other.as_f64()),
        }
    }

    pub fn negate(self) -> Self {
        match self {
            Self::Integer(integer) => match integer.checked_neg() {
                Some(negated) => Self::Integer(negated),
                None => Self::Float(ABOVE_INTEGERS),
            },
            Self::Float(float) if float == ABOVE_INTEGERS => Self::Integer(i64::MIN),
            Self::Float(float) => Self::Float(-float),
        }
    }

    pub fn abs(self) -> Self {
        if self.compare(Self::Integer(0)) == Ordering::Less { self.negate() } else { self }
    }

    /// Compares the exact values, without rounding integers to doubles.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Self::Integer(a), Self::Float(b)) => compare_exactly(a, b),
            (Self::Float(a), Self::Integer(b)) => compare_exactly(b, a).reverse(),
        }
    }

    /// Rounds towards minus infinity.
    pub fn floor(self) -> Self {
        self.rounded(f64::floor)
    }

    pub fn ceil(self) -> Self {
        self.rounded(f64::ceil)
    }

    /// Rounds to the nearest integer; halves go up: 2.5 becomes 3, -2.5 becomes -2.
    pub fn round(self) -> Self {
        self.rounded(|float| {
            let below = float.floor();
            if float - below >= 0.5 { below + 1.0 } else { below }
        })
    }

    fn rounded(self, to: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Integer(_) => self,
            Self::Float(float) => Self::of(to(float)).unwrap_or(self),
        }
    }

    /// Returns the number as an index or count, if it is one.
    pub fn as_index(self) -> Option<usize> {
        match self {
            Self::Integer(integer) => usize::try_from(integer).ok(),
            Self::Float(_) => None,
        }
    }
}

fn compare_exactly(integer: i64, float: f64) -> Ordering {
    if float >= ABOVE_INTEGERS {
        return Ordering::Less;
    }
    if float < -ABOVE_INTEGERS {
        return Ordering::Greater;
    }
    // A double of this range that is not an integer has a fraction, so compare with the integer below it.
    let below = float.floor() as i64;
    if integer <= below { Ordering::Less } else { Ordering::Greater }
}

impl fmt::Display for Number {
    /// Writes the shortest digits that read back as the same number, in JavaScript's layout. The text is also
    /// valid JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let float = match self {
            Self::Integer(integer) => return write!(f, "{integer}"),
            Self::Float(float) => *float,
        };
        let scientific = format!("{:e}", float.abs());
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let point = exponent.parse::<i32>().unwrap_or(0) + 1;
        if float < 0.0 {
            f.write_str("-")?;
        }
        let count = digits.len();
        match usize::try_from(point) {
            Ok(whole @ 1..=21) if whole >= count => write!(f, "{digits}{}", "0".repeat(whole - count)),
            Ok(whole @ 1..=21) => write!(f, "{}.{}", &digits[..whole], &digits[whole..]),
            _ if (-5..=0).contains(&point) => {
                write!(f, "0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
            }
            _ => {
                let sign = if point > 0 { "+" } else { "-" };
                let (first, rest) = digits.split_at(1);
                let dot = if rest.is_empty() { "" } else { "." };
                write!(f, "{first}{dot}{rest}e{sign}{}", (point - 1).unsigned_abs())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number::{Float, Integer};
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn whole_doubles_are_integers_and_minus_zero_is_zero() {
        for (text, integer) in
            [("2.0", 2), ("1e3", 1000), ("-0", 0), ("-0.0", 0), ("9007199254740992.0", 1 << 53)]
        {
            assert_eq!(number(text), Integer(integer), "{text}");
        }
        assert_eq!(number("0.5"), Float(0.5));
        assert_eq!(number("9223372036854775808"), Float(9_223_372_036_854_775_808.0));
        assert_eq!(Number::parse("1e999"), None);
        assert_eq!(Number::of(f64::NAN), None);
    }

    #[test]
    fn arithmetic_is_exact_while_it_fits() {
        let cases = [
            (number("4").over(number("2")), Some(Integer(2))),
            (number("7").over(number("2")), Some(Float(3.5))),
            (number("1").over(number("0")), None),
            (number("0").over(number("0")), None),
            (number("1").remainder(number("0")), None),
            (number("-7").remainder(number("3")), Some(Integer(-1))),
            (number("5.5").remainder(number("2")), Some(Float(1.5))),
            (number("0.5").plus(number("0.5")), Some(Integer(1))),
            (Integer(i64::MAX).plus(Integer(1)), Some(Float(9_223_372_036_854_775_808.0))),
            (Integer(i64::MIN).minus(Integer(1)), Some(Integer(i64::MIN))),
            (Integer(i64::MIN).over(Integer(-1)), Some(Float(9_223_372_036_854_775_808.0))),
            (Integer(i64::MIN).remainder(Integer(-1)), Some(Integer(0))),
            (Integer(i64::MAX).times(Integer(2)), Some(Float(18_446_744_073_709_551_616.0))),
            (number("1e308").times(Integer(10)), None),
            (Some(Integer(i64::MIN).negate()), Some(Float(9_223_372_036_854_775_808.0))),
            (Some(Integer(i64::MIN).negate().negate()), Some(Integer(i64::MIN))),
            (Some(Integer(i64::MIN).abs()), Some(Float(9_223_372_036_854_775_808.0))),
            (Some(number("-1.5").abs()), Some(Float(1.5))),
        ];
        for (place, (found, expected)) in cases.into_iter().enumerate() {
            assert_eq!(found, expected, "case {place}");
        }
    }

    #[test]
    fn comparison_does_not_round() {
        let big = Integer((1 << 53) + 1);
        assert_eq!(big.compare(Float(9_007_199_254_740_992.5)), Ordering::Greater);
        assert_eq!(Integer(i64::MAX).compare(Float(9_223_372_036_854_775_808.0)), Ordering::Less);
        assert_eq!(Integer(i64::MIN).compare(Float(-1e300)), Ordering::Greater);
        assert_eq!(Integer(2).compare(Float(2.5)), Ordering::Less);
        assert_eq!(Float(2.5).compare(Integer(2)), Ordering::Greater);
        assert_eq!(Float(-2.5).compare(Integer(-2)), Ordering::Less);
        assert_eq!(Integer(-3).compare(Float(-2.5)), Ordering::Less);
    }

    #[test]
    fn halves_round_up() {
        for (text, rounded) in [("2.5", 3), ("-2.5", -2), ("2.4999999999999996", 2), ("-0.2", 0), ("7", 7)] {
            assert_eq!(number(text).round(), Integer(rounded), "{text}");
        }
        // Adding one half first would give 1.
        assert_eq!(number("0.49999999999999994").round(), Integer(0));
        assert_eq!(number("-1.5").floor(), Integer(-2));
        assert_eq!(number("-1.5").ceil(), Integer(-1));
    }

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        for (text, written) in [
            ("0.1", "0.1"),
            ("-2.50", "-2.5"),
            ("1e21", "1e+21"),
            ("123456789012345680000", "123456789012345680000"),
            ("1e-6", "0.000001"),
            ("1.5e-7", "1.5e-7"),
            ("1e300", "1e+300"),
            ("12.75", "12.75"),
            ("5e-324", "5e-324"),
        ] {
            assert_eq!(number(text).to_string(), written);
            assert_eq!(number(&number(text).to_string()), number(text), "{text} reads back");
        }
    }
}
