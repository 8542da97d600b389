//! TLS to a private PostgreSQL server, with certificates of a private authority.

mod private_server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use private_server::PrivateServer;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rhythm_engine::world::{World, WorldError};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::Client;

/// A certificate and its key, in PEM.
struct Identity {
    certificate: String,
    key: String,
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn signs(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn self_signed(params: CertificateParams) -> Identity {
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    Identity { certificate: certificate.pem(), key: key.serialize_pem() }
}

/// Removes version and extensions, as in version 1. The signature is wrong then, but the version is checked
/// before it.
fn as_version_one(identity: &Identity) -> Identity {
    let pem = rcgen_pem(&identity.certificate);
    let certificate = elements(inside(&pem));
    let body: Vec<u8> = elements(inside(&certificate[0]))
        .into_iter()
        .filter(|element| !matches!(element[0], 0xa0 | 0xa3))
        .flatten()
        .collect();
    let whole = sequence(&[sequence(&body), certificate[1].clone(), certificate[2].clone()].concat());
    Identity { certificate: to_pem(&whole), key: identity.key.clone() }
}

fn rcgen_pem(pem: &str) -> Vec<u8> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate").to_vec()
}

fn to_pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", base64(der))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for (count, part) in bytes.chunks(3).enumerate() {
        let number = part.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= part.len() { char::from(letter) } else { '=' });
        }
        if count % 16 == 15 {
            text.push('\n');
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns where the content of a DER element begins and ends.
fn extent(der: &[u8]) -> (usize, usize) {
    let length = usize::from(der[1]);
    if length < 0x80 {
        return (2, 2 + length);
    }
    let count = length & 0x7f;
    let length = der[2..2 + count].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    (2 + count, 2 + count + length)
}

fn inside(der: &[u8]) -> &[u8] {
    let (begin, end) = extent(der);
    &der[begin..end]
}

fn elements(mut der: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while !der.is_empty() {
        let (element, rest) = der.split_at(extent(der).1);
        found.push(element.to_vec());
        der = rest;
    }
    found
}

fn sequence(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a short one").to_be_bytes();
    [&[0x30, 0x82], &length[..], content].concat()
}

struct Server {
    server: PrivateServer,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        Self { server: PrivateServer::start(), folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("it is written");
        path
    }

    /// URL with the name of the host and these parameters.
    fn url(&self, parameters: &str) -> String {
        format!("{}?{parameters}", self.server.url.replace("127.0.0.1", "localhost"))
    }

    async fn admin(&self) -> Client {
        let (client, connection) =
            rhythm_worlds::postgres::connect(&self.url("sslmode=disable")).await.expect("it answers");
        tokio::spawn(connection);
        client
    }

    /// Writes a file beside the server's data that only the server's user can read.
    async fn put(&self, name: &str, content: &str) {
        let coded = base64(content.as_bytes()).replace('\n', "");
        let copy = format!("COPY (SELECT '{coded}') TO PROGRAM 'umask 077; base64 -d > {name}'");
        self.admin().await.batch_execute(&copy).await.expect("it is written");
    }

    /// Makes the server present this certificate from now on.
    async fn shows(&self, identity: &Identity) {
        self.put("server.crt", &identity.certificate).await;
        self.put("server.key", &identity.key).await;
        self.reload("ALTER SYSTEM SET ssl = on").await;
    }

    async fn reload(&self, change: &str) {
        let client = self.admin().await;
        let loaded = "SELECT pg_conf_load_time()::text";
        let before: String = client.query_one(loaded, &[]).await.expect("it answers").get(0);
        client.batch_execute(change).await.expect("it is changed");
        client.batch_execute("SELECT pg_reload_conf()").await.expect("it is loaded");
        let give_up = Instant::now() + Duration::from_secs(30);
        // A new session has the configuration that the server had at its start.
        while self.admin().await.query_one(loaded, &[]).await.expect("it answers").get::<_, String>(0)
            == before
        {
            assert!(Instant::now() < give_up, "the server does not load its configuration");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Connects. Returns whether the connection is encrypted.
    async fn connects(&self, parameters: &str) -> Result<bool, WorldError> {
        connects(&self.url(parameters)).await
    }

    async fn refusal(&self, parameters: &str) -> String {
        match self.connects(parameters).await {
            Err(WorldError::Untrusted(why)) => why,
            other => panic!("{parameters}: {other:?}"),
        }
    }
}

async fn connects(url: &str) -> Result<bool, WorldError> {
    let (client, connection) = rhythm_worlds::postgres::connect(url).await?;
    tokio::spawn(connection);
    let encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    Ok(client.query_one(encrypted, &[]).await.expect("it answers").get(0))
}

fn root(mode: &str, file: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", file.display())
}

fn good() -> CertificateParams {
    let mut params = named("localhost", &["localhost", "127.0.0.1"]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_judged_as_sslmode_says() {
    let server = Server::start();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let trusted = server.file("ours.pem", &ours.0.pem());
    let other = server.file("theirs.pem", &theirs.0.pem());
    let [ca, full, wrong] =
        [root("verify-ca", &trusted), root("verify-full", &trusted), root("verify-full", &other)];

    assert_eq!(server.connects("sslmode=prefer").await, Ok(false), "the server cannot");
    assert!(server.refusal("sslmode=require").await.contains("does not offer TLS"));

    server.shows(&ours.signs(good())).await;
    assert_eq!(server.connects("sslmode=disable").await, Ok(false));
    for parameters in ["", "sslmode=prefer", "sslmode=require", &ca, &full, &root("require", &trusted)] {
        assert_eq!(server.connects(parameters).await, Ok(true), "{parameters}");
    }
    let by_address = format!("{}?{full}", server.server.url);
    assert_eq!(connects(&by_address).await, Ok(true), "an address is a name too");
    for parameters in [&wrong, &root("verify-ca", &other), &root("require", &other)] {
        let why = server.refusal(parameters).await;
        assert!(why.contains("not signed by any authority of sslrootcert="), "{why}");
    }
    assert_eq!(server.connects(&root("prefer", &other)).await, Ok(true), "prefer asks nobody");

    server.shows(&ours.signs(named("localhost", &["db.example.com"]))).await;
    assert_eq!(server.connects(&ca).await, Ok(true), "verify-ca skips the name");
    let why = server.refusal(&full).await;
    assert!(why.contains("db.example.com") && why.contains("the URL says localhost"), "{why}");

    server.shows(&ours.signs(named("localhost", &[]))).await;
    assert_eq!(server.connects(&ca).await, Ok(true));
    let why = server.refusal(&full).await;
    assert!(why.contains("no subject alternative name"), "{why}");

    let mut old = good();
    (old.not_before, old.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    server.shows(&ours.signs(old.clone())).await;
    assert_eq!(server.connects("sslmode=require").await, Ok(true));
    assert!(server.refusal(&ca).await.contains("has expired"));
    let expired = self_signed(old);
    let itself = server.file("expired.pem", &expired.certificate);
    server.shows(&expired).await;
    assert!(server.refusal(&root("verify-full", &itself)).await.contains("has expired"));

    server.shows(&as_version_one(&ours.signs(good()))).await;
    assert_eq!(server.connects("sslmode=require").await, Ok(true));
    let why = server.refusal(&ca).await;
    assert!(why.contains("version 1") && why.contains("subject alternative name"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_have_the_certificate_that_is_named_itself() {
    let server = Server::start();
    let ours = Authority::new("ours");
    let trusted = server.file("ours.pem", &ours.0.pem());
    let mut authority = good();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for params in [good(), authority] {
        let identity = self_signed(params);
        let itself = server.file("itself.pem", &identity.certificate);
        server.shows(&identity).await;
        assert_eq!(server.connects(&root("verify-full", &itself)).await, Ok(true));
        assert!(server.refusal(&root("verify-full", &trusted)).await.contains("not signed by"));
    }
    // A certificate that an authority has signed is not an authority.
    let identity = ours.signs(good());
    let itself = server.file("leaf.pem", &identity.certificate);
    server.shows(&identity).await;
    assert_eq!(server.connects(&root("verify-full", &itself)).await, Ok(true));
    server.shows(&ours.signs(good())).await;
    assert!(server.refusal(&root("verify-full", &itself)).await.contains("not signed by"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_shows_its_certificate_and_a_world_works_over_tls() {
    let server = Server::start();
    let ours = Authority::new("ours");
    let trusted = server.file("ours.pem", &ours.0.pem());
    let mine = ours.signs(named("certified", &[]));
    let stranger = Authority::new("theirs").signs(named("certified", &[]));
    let paths = [
        server.file("mine.crt", &mine.certificate),
        server.file("mine.key", &mine.key),
        server.file("stranger.crt", &stranger.certificate),
        server.file("stranger.key", &stranger.key),
    ];
    server.shows(&ours.signs(good())).await;
    server.put("clients.crt", &ours.0.pem()).await;
    let admin = server.admin().await;
    let role = "CREATE ROLE certified LOGIN; GRANT ALL ON DATABASE postgres TO certified";
    admin.batch_execute(role).await.expect("a role is made");
    let rule = "hostssl all certified all cert";
    let first =
        format!("COPY (SELECT '{rule}') TO PROGRAM 'cat - pg_hba.conf > new && cat new > pg_hba.conf'");
    admin.batch_execute(&first).await.expect("a rule is written");
    server.reload("ALTER SYSTEM SET ssl_ca_file = 'clients.crt'").await;
    let (_, place) = server.server.url.split_once('@').expect("the url has a user");
    let place = place.replace("127.0.0.1", "localhost");
    let url = format!("postgres://certified@{place}?{}", root("verify-full", &trusted));
    let with = |pair: &[PathBuf]| format!("{url}&sslcert={}&sslkey={}", pair[0].display(), pair[1].display());
    assert_eq!(connects(&with(&paths[..2])).await, Ok(true));
    for refused in [&url, &with(&paths[2..])] {
        let error = connects(refused).await.expect_err("no certificate the server knows");
        assert!(matches!(error, WorldError::Denied(_) | WorldError::Untrusted(_)), "{error:?}");
    }
    let half = format!("{url}&sslcert={}", paths[0].display());
    assert!(matches!(connects(&half).await, Err(WorldError::BadUrl(_))));

    for connections in [1, 3] {
        let url = with(&paths[..2]) + &format!("&connections={connections}");
        let world = PostgresWorld::connect(&url, PostgresOptions::default()).await.expect("the world opens");
        world.now().await.expect("the world answers");
        let sessions = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE usename = 'certified'";
        let row = admin.query_one(sessions, &[]).await.expect("it answers");
        assert!(row.get::<_, i64>(0) >= connections.min(2));
        assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1), "all of them are encrypted");
    }
    let wrong = format!("{url}&connections=1").replace("ours.pem", "mine.crt");
    let error =
        PostgresWorld::connect(&wrong, PostgresOptions::default()).await.err().expect("wrong authority");
    assert_eq!(error.code(), "WORLD016", "{error}");
}

/// Returns the first bytes of a handshake, as a server gets them.
async fn greeting(parameters: &str) -> Option<String> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let url = format!("postgres://ann@localhost:{port}/db?sslmode=require{parameters}");
    let client = tokio::spawn(async move { connects(&url).await.map(|_| ()) });
    let (mut stream, _) = listener.accept().await.expect("somebody comes");
    let mut asked = [0; 8];
    stream.read_exact(&mut asked).await.expect("it asks for TLS");
    stream.write_all(b"S").await.expect("yes");
    let mut acceptor = rustls::server::Acceptor::default();
    let hello = loop {
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).await.expect("a greeting");
        acceptor.read_tls(&mut &bytes[..count]).expect("TLS");
        if let Some(accepted) = acceptor.accept().map_err(|(error, _)| error).expect("a greeting") {
            break accepted;
        }
    };
    let name = hello.client_hello().server_name().map(str::to_owned);
    drop(stream);
    assert!(client.await.expect("no panic").is_err(), "nobody answered");
    name
}

#[tokio::test]
async fn the_host_is_named_in_the_greeting_unless_that_is_turned_off() {
    assert_eq!(greeting("").await.as_deref(), Some("localhost"));
    assert_eq!(greeting("&sslsni=0").await, None);
}

#[tokio::test]
async fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").expect("it is written");
    for (file, part) in [(&empty, "there is none"), (&folder.path().join("none.pem"), "none.pem")] {
        let url = format!("postgres://u@localhost/d?{}", root("verify-full", file));
        let error =
            PostgresWorld::connect(&url, PostgresOptions::default()).await.err().expect("it is refused");
        assert!(matches!(&error, WorldError::Invalid(why) if why.contains(part)), "{error:?}");
    }
}
