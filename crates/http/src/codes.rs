//! The codes of failed requests. Each has a page in `docs/errors`.

/// The answer's status is not one of those wanted. The failure's type is `HTTP_404` and the like.
pub const HTTP_STATUS: &str = "HTTP_STATUS";
/// The address is not public and its host is not allowed.
pub const HTTP_BLOCKED: &str = "HTTP_BLOCKED";
/// The name cannot be resolved, nobody answers there, or the connection broke.
pub const HTTP_UNREACHABLE: &str = "HTTP_UNREACHABLE";
/// The request took longer than its own timeout.
pub const HTTP_TIMEOUT: &str = "HTTP_TIMEOUT";
/// The answer is larger than allowed.
pub const HTTP_TOO_LARGE: &str = "HTTP_TOO_LARGE";
/// A redirection that is not followed: too many, or to a place that requests may not lead to.
pub const HTTP_REDIRECT: &str = "HTTP_REDIRECT";
