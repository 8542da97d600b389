//! Parses world URLs: parameters that the PostgreSQL client does not know, and settings from the environment,
//! as in `psql`.

use std::path::{Path, PathBuf};

use rhythm_engine::world::{WorldError, WorldResult};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslNegotiation};

use crate::postgres::connection::tls::{Mode, Root, TlsSettings};

/// Largest allowed number of connections.
const MOST: usize = 64;

/// Reads an environment variable; tests pass their own function.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A parsed URL.
#[derive(Debug)]
pub struct Url {
    pub config: Config,
    pub connections: Option<usize>,
    pub tls: TlsSettings,
}

impl Url {
    pub fn parse(url: &str, environment: Environment<'_>) -> WorldResult<Self> {
        let (plain, ours) = split(url)?;
        let mut config: Config = plain.parse().map_err(|error| bad(format!("{error}")))?;
        let of_environment = FROM_ENVIRONMENT.iter().filter_map(|(variable, key)| {
            let value = environment(variable).filter(|value| !value.is_empty())?;
            Some((*key, value))
        });
        let (mut connections, mut passfile) = (None, None);
        let mut tls = TlsSettings::default();
        // The URL comes last, so it overrides the environment.
        for (key, value) in of_environment.chain(ours) {
            match key {
                "connections" => connections = Some(count(&value)?),
                "passfile" => passfile = Some(PathBuf::from(value)),
                "sslmode" => tls.mode = Some(Mode::parse(&value)?),
                "sslrootcert" if value == "system" => tls.root = Some(Root::System),
                "sslrootcert" => tls.root = Some(Root::File(value.into())),
                "sslcert" => tls.certificate = Some(value.into()),
                "sslkey" => tls.key = Some(value.into()),
                _ => tls.without_sni = value == "0",
            }
        }
        tls.direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        if config.get_password().is_none()
            && let Some(password) = password(&config, passfile, environment)
        {
            config.password(password);
        }
        Ok(Self { config, connections, tls })
    }
}

const OURS: [&str; 7] = ["connections", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni"];

const FROM_ENVIRONMENT: [(&str, &str); 5] = [
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
];

/// Splits a URL into one without our parameters, and our parameters.
fn split(url: &str) -> WorldResult<(String, Vec<(&'static str, String)>)> {
    // A password may hold a question mark, so search for parameters after the `@`.
    let host = url.find('@').map_or(0, |at| at + 1);
    let Some(begin) = url[host..].find('?').map(|at| host + at) else { return Ok((url.to_owned(), vec![])) };
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for parameter in url[begin + 1..].split('&') {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match OURS.iter().find(|known| **known == key) {
            Some(known) => ours.push((*known, decoded(value)?)),
            None => theirs.push(parameter),
        }
    }
    let rest = if theirs.is_empty() { String::new() } else { format!("?{}", theirs.join("&")) };
    Ok((format!("{}{rest}", &url[..begin]), ours))
}

fn decoded(text: &str) -> WorldResult<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_err(|_| bad(format!("{text:?} is no UTF-8")))
}

fn count(value: &str) -> WorldResult<usize> {
    match value.parse() {
        Ok(count) if (1..=MOST).contains(&count) => Ok(count),
        _ => Err(bad(format!("connections={value}: write a number from 1 to {MOST}"))),
    }
}

fn bad(why: String) -> WorldError {
    WorldError::BadUrl(why)
}

/// Returns `PGPASSWORD`, else the password of the first line that fits in the password file.
fn password(config: &Config, passfile: Option<PathBuf>, environment: Environment<'_>) -> Option<String> {
    if let Some(password) = environment("PGPASSWORD").filter(|password| !password.is_empty()) {
        return Some(password);
    }
    let home = || Some(Path::new(&environment("HOME")?).join(".pgpass"));
    let file = passfile.or_else(home)?;
    let text = std::fs::read_to_string(&file).ok()?;
    if !is_private(&file) {
        tracing::warn!(file = %file.display(), "the password file is not read: others may read it too; chmod 600 it");
        return None;
    }
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().map(str::to_owned).or_else(|| environment("USER")).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    let wanted = [host, port, database, user];
    text.lines().find_map(|line| fitting(line, &wanted))
}

/// Returns the password of a line `host:port:database:user:password` that fits. `*` fits everything, and `\`
/// takes the next character literally.
fn fitting(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (mut fields, mut last) = (Vec::new(), String::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => last.extend(characters.next()),
            ':' if fields.len() < wanted.len() => fields.push(std::mem::take(&mut last)),
            other => last.push(other),
        }
    }
    fields.push(last);
    let fits = fields.len() == wanted.len() + 1
        && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
    fits.then(|| fields.pop()).flatten()
}

#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str, variables: &[(&str, &str)]) -> Url {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Url::parse(url, &variable).expect("a URL")
    }

    fn password_of(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let config = parsed(url, variables).config;
        config.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
    }

    #[test]
    fn the_number_of_connections_is_a_parameter_of_the_url() {
        assert_eq!(parsed("postgres://u@h/d", &[]).connections, None);
        let url = parsed("postgres://u:a?b@h/d?connections=1&connect_timeout=7", &[]);
        assert_eq!(url.connections, Some(1));
        assert_eq!(url.config.get_connect_timeout().map(|timeout| timeout.as_secs()), Some(7));
        assert_eq!(url.config.get_dbname(), Some("d"));
        for wrong in ["0", "65", "many", ""] {
            let error = Url::parse(&format!("postgres://u@h/d?connections={wrong}"), &|_| None).unwrap_err();
            assert!(error.to_string().contains("a number from 1 to 64"), "{error}");
        }
    }

    #[test]
    fn tls_is_set_by_the_url_then_the_environment() {
        let tls = |url: &str, variables: &[(&str, &str)]| parsed(url, variables).tls;
        assert_eq!(tls("postgres://h/d", &[]).mode().unwrap(), Mode::Prefer);
        let required = ("PGSSLMODE", "require");
        assert_eq!(tls("postgres://h/d", &[required]).mode().unwrap(), Mode::Require);
        assert_eq!(tls("postgres://h/d?sslmode=disable", &[required]).mode().unwrap(), Mode::Disable);
        let rooted = ("PGSSLROOTCERT", "/ca.pem");
        assert_eq!(tls("postgres://h/d", &[required, rooted]).mode().unwrap(), Mode::VerifyCa);
        assert_eq!(tls("postgres://h/d", &[rooted]).mode().unwrap(), Mode::Prefer);
        assert_eq!(tls("postgres://h/d?sslrootcert=system", &[]).mode().unwrap(), Mode::VerifyFull);
        assert!(tls("postgres://h/d?sslrootcert=system", &[required]).mode().is_err());
        assert!(tls("postgres://h/d?sslmode=verify-full", &[]).mode().is_err());
        let all =
            tls("postgres://h/d?sslmode=verify-full&sslrootcert=%2Fa%20b&sslcert=c&sslkey=k&sslsni=0", &[]);
        assert_eq!(all.root, Some(Root::File("/a b".into())));
        assert_eq!((all.certificate, all.key), (Some("c".into()), Some("k".into())));
        assert!(all.without_sni);
        let error = Url::parse("postgres://h/d?sslmode=verify_full", &|_| None).unwrap_err();
        assert!(error.to_string().contains("verify-full"), "{error}");
    }

    #[test]
    fn a_password_comes_from_the_url_then_the_environment_then_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(".pgpass");
        std::fs::write(&file, "# mine\nother:5432:*:*:no\nh:5432:d:ann:a\\:b:c\n*:*:*:*:any\n")
            .expect("written");
        let home = ("HOME", folder.path().to_str().expect("a path"));
        let of_file = |url: &str| password_of(url, &[home]);
        assert_eq!(of_file("postgres://ann@h/d"), None, "others may read the file");
        restrict(&file);
        assert_eq!(of_file("postgres://ann@h/d").as_deref(), Some("a:b:c"));
        assert_eq!(of_file("postgres://bob@h/d").as_deref(), Some("any"));
        let given = ("PGPASSFILE", file.to_str().expect("a path"));
        assert_eq!(password_of("postgres://ann@h/d", &[given]).as_deref(), Some("a:b:c"));
        let named = format!("postgres://ann@h/d?passfile={}", file.display());
        assert_eq!(password_of(&named, &[]).as_deref(), Some("a:b:c"));
        let said = ("PGPASSWORD", "said");
        assert_eq!(password_of("postgres://ann@h/d", &[home, said]).as_deref(), Some("said"));
        assert_eq!(password_of("postgres://ann:own@h/d", &[home, said]).as_deref(), Some("own"));
        assert_eq!(password_of("postgres://ann@h/d", &[]), None);
    }

    #[cfg(unix)]
    fn restrict(file: &Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }
}
