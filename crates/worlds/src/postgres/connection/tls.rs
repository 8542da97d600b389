//! TLS to PostgreSQL: the meaning of `sslmode` and related settings, and the check of the server's
//! certificate.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rhythm_engine::world::{WorldError, WorldResult};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

/// TLS modes with the names of `psql`, each stricter than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Disable,
    /// Encrypts when the server can.
    #[default]
    Prefer,
    /// Encrypts, but does not check the server's certificate.
    Require,
    VerifyCa,
    VerifyFull,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    File(PathBuf),
    /// The authorities that the operating system trusts.
    System,
}

/// TLS settings of a URL and the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    pub mode: Option<Mode>,
    pub root: Option<Root>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Does not send the host name in the clear (SNI).
    pub without_sni: bool,
    /// Begins TLS with the first byte, which requires ALPN.
    pub direct: bool,
}

impl Mode {
    pub fn parse(name: &str) -> WorldResult<Self> {
        Ok(match name {
            "disable" => Self::Disable,
            // As strict as `allow`, and encrypted more often.
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(WorldError::BadUrl(format!(
                    "sslmode={name}: write disable, prefer, require, verify-ca or verify-full"
                )));
            }
        })
    }

    pub fn for_client(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }
}

impl TlsSettings {
    /// Returns the effective mode. System roots need `verify-full`, and `require` with a root file means
    /// `verify-ca`. Fails for settings that contradict each other.
    pub fn mode(&self) -> WorldResult<Mode> {
        match (self.mode, &self.root) {
            (None | Some(Mode::VerifyFull), Some(Root::System)) => Ok(Mode::VerifyFull),
            (Some(mode), Some(Root::System)) if mode != Mode::Disable => Err(WorldError::BadUrl(
                "sslrootcert=system trusts every public authority, so it needs sslmode=verify-full".into(),
            )),
            (Some(Mode::Require), Some(Root::File(_))) => Ok(Mode::VerifyCa),
            (Some(Mode::VerifyCa | Mode::VerifyFull), None) => Err(WorldError::BadUrl(
                "sslmode=verify-ca and verify-full need sslrootcert=FILE, or sslrootcert=system".into(),
            )),
            (mode, _) => Ok(mode.unwrap_or_default()),
        }
    }
}

/// Encrypts connections. Without a configuration, encryption is never requested.
#[derive(Clone)]
pub struct Tls {
    config: Option<Arc<ClientConfig>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("on", &self.config.is_some()).finish()
    }
}

impl Tls {
    pub fn new(settings: &TlsSettings) -> WorldResult<Self> {
        let mode = settings.mode()?;
        if mode == Mode::Disable {
            return Ok(Self { config: None });
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Verifier::new(mode, settings.root.as_ref(), &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| WorldError::Invalid(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => {
                let chain = certificates("sslcert", certificate)?;
                let private = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                    unreadable("sslkey", key, "a private key in PEM, without a password", &error)
                })?;
                builder
                    .with_client_auth_cert(chain, private)
                    .map_err(|error| WorldError::Invalid(format!("sslcert and sslkey: {error}")))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err(WorldError::BadUrl("sslcert and sslkey belong together".into())),
        };
        config.enable_sni = !settings.without_sni;
        if settings.direct {
            config.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Self { config: Some(Arc::new(config)) })
    }
}

fn certificates(setting: &str, file: &Path) -> WorldResult<Vec<CertificateDer<'static>>> {
    let unreadable = |error: &dyn fmt::Display| unreadable(setting, file, "certificates in PEM", error);
    let read = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))?;
    let found: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| unreadable(&error))?;
    match found.is_empty() {
        true => Err(unreadable(&"there is none")),
        false => Ok(found),
    }
}

fn unreadable(setting: &str, file: &Path, wanted: &str, why: &dyn fmt::Display) -> WorldError {
    WorldError::Invalid(format!("{setting}={}: no {wanted} could be read: {why}", file.display()))
}

/// Reason for a failed handshake, as text for an error.
#[derive(Clone, Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refusal {}

/// Checks the server's certificate as far as the mode asks for.
#[derive(Debug)]
struct Verifier {
    /// `None` accepts every certificate.
    trust: Option<Trust>,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
struct Trust {
    roots: RootCertStore,
    /// Certificates of the root file; a server may present one of them itself.
    named: Vec<CertificateDer<'static>>,
    /// Origin of the roots, for errors.
    from: String,
    with_name: bool,
}

impl Verifier {
    fn new(mode: Mode, root: Option<&Root>, provider: &CryptoProvider) -> WorldResult<Self> {
        let algorithms = provider.signature_verification_algorithms;
        let trust = match (mode, root) {
            (Mode::VerifyCa | Mode::VerifyFull, Some(root)) => {
                Some(Trust::new(root, mode == Mode::VerifyFull)?)
            }
            _ => None,
        };
        Ok(Self { trust, algorithms })
    }
}

impl Trust {
    fn new(root: &Root, with_name: bool) -> WorldResult<Self> {
        let mut roots = RootCertStore::empty();
        let (named, from) = match root {
            Root::File(file) => {
                (certificates("sslrootcert", file)?, format!("sslrootcert={}", file.display()))
            }
            Root::System => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err(WorldError::Invalid(
                        "sslrootcert=system: this machine has no certificates; install ca-certificates"
                            .into(),
                    ));
                }
                (Vec::new(), "sslrootcert=system".to_owned())
            }
        };
        roots.add_parsable_certificates(named.iter().cloned());
        Ok(Self { roots, named, from, with_name })
    }

    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        now: UnixTime,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> Result<(), String> {
        if is_version_one(certificate) {
            return Err(
                "it is an X.509 certificate of version 1, which can name no host; make one of version 3 \
                with a subject alternative name"
                    .into(),
            );
        }
        let parsed = ParsedCertificate::try_from(certificate)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        let signed =
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, between, now, algorithms.all);
        match signed {
            Err(rustls::Error::InvalidCertificate(why)) => {
                let is_named = self.named.iter().any(|named| named == certificate);
                match about_time(&why) {
                    Some(late) => return Err(late.into()),
                    None if is_named => {}
                    None => {
                        return Err(format!("it is not signed by any authority of {} ({why})", self.from));
                    }
                }
            }
            Err(other) => return Err(other.to_string()),
            Ok(()) => {}
        }
        if !self.with_name {
            return Ok(());
        }
        verify_server_name(&parsed, host).map_err(|error| match error {
            rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented, ..
            }) if presented.is_empty() => {
                "it names no host: it has no subject alternative name, and the common name does not count"
                    .into()
            }
            rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented, ..
            }) => {
                format!("it is for {}, and the URL says {}", presented.join(", "), host.to_str())
            }
            other => other.to_string(),
        })
    }
}

fn about_time(why: &CertificateError) -> Option<&'static str> {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Some("it has expired"),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Some("it is not valid yet; is this machine's clock right?")
        }
        _ => None,
    }
}

/// Whether a certificate has no version field, which means version 1. The parser refuses malformed input
/// later.
fn is_version_one(certificate: &[u8]) -> bool {
    fn inside(der: &[u8]) -> Option<&[u8]> {
        let (0x30, length) = (*der.first()?, *der.get(1)?) else { return None };
        let more = if length < 0x80 { 0 } else { usize::from(length & 0x7f) };
        der.get(2 + more..)
    }
    inside(certificate).and_then(inside).and_then(<[u8]>::first).is_some_and(|tag| *tag != 0xa0)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(trust) = &self.trust {
            trust.judge(end_entity, intermediates, server_name, now, &self.algorithms).map_err(|why| {
                let refusal = Refusal(format!("the server's certificate is refused: {why}"));
                rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refusal))))
            })?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.trust {
            Some(_) => verify_tls12_signature(message, certificate, signed, &self.algorithms),
            // A mode that accepts every certificate accepts every key, in any form.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.trust {
            Some(_) => verify_tls13_signature(message, certificate, signed, &self.algorithms),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

impl MakeTlsConnect<Socket> for Tls {
    type Stream = TlsStream;
    type TlsConnect = Handshake;
    type Error = BoxError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, BoxError> {
        Ok(Handshake { config: self.config.clone(), host: host.to_owned() })
    }
}

pub struct Handshake {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = TlsStream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TlsStream, BoxError>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or("TLS is turned off")?;
            let host = ServerName::try_from(self.host)?;
            match TlsConnector::from(config).connect(host, stream).await {
                Ok(stream) => Ok(TlsStream(stream)),
                Err(error) => Err(refusal(&error).map_or_else(|| error.into(), Into::into)),
            }
        })
    }
}

/// Returns what the error of a handshake, or of a read after it, says about TLS.
pub fn refusal(error: &io::Error) -> Option<Refusal> {
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(why))) => {
            why.downcast_ref::<Refusal>().cloned()
        }
        rustls::Error::AlertReceived(alert) => Some(Refusal(format!(
            "the server ended it ({alert:?}); does it want a client certificate (sslcert, sslkey), or another one?"
        ))),
        other => Some(Refusal(other.to_string())),
    }
}

/// An encrypted connection.
pub struct TlsStream(tokio_rustls::client::TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for TlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
