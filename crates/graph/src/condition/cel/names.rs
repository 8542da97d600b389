//! Names of functions and types.

use cel::common::ast::{Expr, SelectExpr};

use super::expression::{Function, Part, Type};

/// Returns a function with its number of arguments, including the value before its dot.
pub(super) fn function_named(name: &str) -> Option<(Function, usize)> {
    Some(match name {
        "size" => (Function::Size, 1),
        "contains" => (Function::Contains, 2),
        "startsWith" => (Function::StartsWith, 2),
        "endsWith" => (Function::EndsWith, 2),
        "lowerAscii" => (Function::LowerAscii, 1),
        "upperAscii" => (Function::UpperAscii, 1),
        "trim" => (Function::Trim, 1),
        "int" | "uint" => (Function::Int, 1),
        "double" => (Function::Double, 1),
        "string" => (Function::Text, 1),
        "bool" => (Function::Bool, 1),
        "dyn" => (Function::Dyn, 1),
        "type" => (Function::Type, 1),
        "timestamp" => (Function::Timestamp, 1),
        "duration" => (Function::Duration, 1),
        _ => (Function::Part(part_named(name)?), 1),
    })
}

fn part_named(name: &str) -> Option<Part> {
    Some(match name {
        "getFullYear" => Part::FullYear,
        "getMonth" => Part::Month,
        "getDate" => Part::Date,
        "getDayOfMonth" => Part::DayOfMonth,
        "getDayOfYear" => Part::DayOfYear,
        "getDayOfWeek" => Part::DayOfWeek,
        "getHours" => Part::Hours,
        "getMinutes" => Part::Minutes,
        "getSeconds" => Part::Seconds,
        "getMilliseconds" => Part::Milliseconds,
        _ => return None,
    })
}

/// Returns a type by name. There is no `uint`: every whole number is an `int`.
pub(super) fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "null_type" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "double" => Type::Double,
        "string" => Type::Text,
        "list" => Type::List,
        "map" => Type::Map,
        "type" => Type::Itself,
        _ => return None,
    })
}

/// Returns the type for `google.protobuf.Timestamp` or `google.protobuf.Duration`, the only long type names.
pub(super) fn message_type(select: &SelectExpr) -> Option<Type> {
    let Expr::Select(package) = &select.operand.expr else { return None };
    let Expr::Ident(first) = &package.operand.expr else { return None };
    match (first.as_str(), package.field.as_str(), select.field.as_str()) {
        ("google", "protobuf", "Timestamp") => Some(Type::Moment),
        ("google", "protobuf", "Duration") => Some(Type::Length),
        _ => None,
    }
}
