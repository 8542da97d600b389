//! TLS of `http.request` and to PostgreSQL: with a certificate that the machine trusts and one that it does
//! not.

mod rig;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rig::Rig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Serves connections until the process ends. Returns the port and the certificate.
fn serve(answer: fn(TcpStream, Arc<ServerConfig>) -> std::io::Result<()>) -> (u16, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind(("127.0.0.1", 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that does not trust the certificate closes the connection.
            let _ = answer(stream, config.clone());
        }
    });
    (port, cert.pem())
}

/// Accepts PostgreSQL's request for TLS, makes the TLS handshake and sends nothing more.
fn greet(mut stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 8])?;
    stream.write_all(b"S")?;
    let mut session = ServerConnection::new(config).map_err(std::io::Error::other)?;
    session.complete_io(&mut stream).map(|_| ())
}

/// Answers every request with the same JSON.
fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let session = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(session, stream));
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\nconnection: close";
    let mut stream = reader.into_inner();
    stream.write_all(format!("{head}\r\n\r\n{{\"secret\":true}}").as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn a_certificate_must_be_trusted() {
    let rig = Rig::sqlite();
    let (port, certificate) = serve(answer);
    rig.write("trusted.pem", &certificate);
    let url = format!("https://localhost:{port}/");
    rig.write(
        "ask.flow",
        &format!(
            "let answer = await Task.run(\"http.request\", {{ url: \"{url}\" }}, {{ retries: 1 }})\nreturn answer.body\n"
        ),
    );
    let ask = |trusted: bool| {
        let mut command =
            rig.command(&["run", "ask.flow", "--quiet", "--allow-host", &format!("localhost:{port}")]);
        if trusted {
            command.env("SSL_CERT_FILE", rig.path().join("trusted.pem"));
        }
        rig::answer(command)
    };
    let answer = ask(true);
    assert_eq!((answer.code, answer.stdout.trim()), (0, r#"{"secret":true}"#), "{answer:?}");
    let answer = ask(false);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("certificate"), "it says why: {answer:?}");
}

#[test]
fn the_machine_decides_who_a_database_is_when_the_url_says_system() {
    let rig = Rig::sqlite();
    let (port, certificate) = serve(greet);
    let (_, stranger) = serve(greet);
    rig.write("trusted.pem", &certificate);
    rig.write("other.pem", &stranger);
    let url = format!("postgres://ann:pw@localhost:{port}/db?sslrootcert=system&connections=1");
    let ask = |file: &str| {
        let mut command = rig.command(&["--world", &url, "db", "status"]);
        command.env("SSL_CERT_FILE", rig.path().join(file)).env_remove("SSL_CERT_DIR");
        rig::answer(command)
    };
    let answer = ask("other.pem");
    assert_eq!(answer.code, 5, "{answer:?}");
    assert!(answer.stderr.contains("WORLD016"), "{answer:?}");
    assert!(answer.stderr.contains("not signed by any authority of sslrootcert=system"), "{answer:?}");
    let answer = ask("trusted.pem");
    assert!(answer.stderr.contains("WORLD001"), "it is trusted, and hangs up: {answer:?}");
}
