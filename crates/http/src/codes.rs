//! The codes of failed requests. Each has a page in `docs/errors`.

/// The response's status is not an expected one. The failure's type is `HTTP_404` and so on.
pub const HTTP_STATUS: &str = "HTTP_STATUS";
/// The address is not public and its host is not allowed.
pub const HTTP_BLOCKED: &str = "HTTP_BLOCKED";
/// The name cannot be resolved, no server accepts the connection, or the connection broke.
pub const HTTP_UNREACHABLE: &str = "HTTP_UNREACHABLE";
/// The request took longer than its own timeout.
pub const HTTP_TIMEOUT: &str = "HTTP_TIMEOUT";
/// The response body is larger than allowed.
pub const HTTP_TOO_LARGE: &str = "HTTP_TOO_LARGE";
/// A redirection is refused: it is one too many, or it leads to a URL that requests may not use.
pub const HTTP_REDIRECT: &str = "HTTP_REDIRECT";
