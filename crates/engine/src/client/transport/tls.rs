//! What `--ssl-*` means: whom to believe, and what to show of ourselves.
//! Never knows: sockets, packets.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::plan::{SslMode, SslPlan};

/// What was asked of TLS does not fit together, or a file for it can't be read: no server was asked.
#[derive(Debug, thiserror::Error)]
#[error("TLS: {0}")]
pub(in crate::client) struct TlsSetupError(pub(in crate::client) String);

/// TLS as it was asked for.
#[derive(Clone, Debug)]
pub(in crate::client) struct TlsSetup {
    /// How much is asked.
    pub(in crate::client) mode: SslMode,
    /// Ready for connections; absent where TLS is disabled.
    pub(in crate::client) config: Option<Arc<ClientConfig>>,
}

/// Reads the files and makes the configuration.
pub(in crate::client) fn read_tls_setup(plan: &SslPlan) -> Result<TlsSetup, TlsSetupError> {
    // An authority without a mode is given to be used.
    let authority = plan.ca.is_some() || plan.capath.is_some();
    let unsaid = if authority { SslMode::VerifyCa } else { SslMode::Preferred };
    let mode = plan.mode.unwrap_or(unsaid);
    if mode == SslMode::Disabled {
        return Ok(TlsSetup { mode, config: None });
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsSetupError(e.to_string()))?;
    let builder = match mode {
        SslMode::VerifyIdentity => builder.with_root_certificates(read_root_certificates(plan)?),
        SslMode::VerifyCa => builder.dangerous().with_custom_certificate_verifier(
            LenientVerifier::new(&provider, Some(read_root_certificates(plan)?)),
        ),
        _ => builder
            .dangerous()
            .with_custom_certificate_verifier(LenientVerifier::new(&provider, None)),
    };
    let config = match (&plan.cert, &plan.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = read_certificates(cert)?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable_file(key, &e))?;
            builder.with_client_auth_cert(chain, key).map_err(|e| {
                TlsSetupError(format!("{} and its key don't match: {e}", cert.display()))
            })?
        }
        (Some(_), None) => return Err(TlsSetupError("--ssl-cert also needs --ssl-key".into())),
        (None, Some(_)) => return Err(TlsSetupError("--ssl-key also needs --ssl-cert".into())),
    };
    Ok(TlsSetup { mode, config: Some(Arc::new(config)) })
}

/// Where systems keep the authorities that they trust, in one file.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// TLS with any server of the web: its certificate must name the host and come from the system's authorities, or those of a
/// file; `None` for no verification at all. Sessions are not resumed, so that each handshake is a whole one.
pub(in crate::client) fn web_client_config(
    verify: Option<WebAuthorities<'_>>,
) -> Result<Arc<ClientConfig>, TlsSetupError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsSetupError(e.to_string()))?;
    let builder = match verify {
        Some(authorities) => builder.with_root_certificates(read_web_roots(authorities)?),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(LenientVerifier::new(&provider, None)),
    };
    let mut config = builder.with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// Whom to believe.
#[derive(Clone, Copy, Debug)]
pub(in crate::client) enum WebAuthorities<'a> {
    /// The system's authorities.
    System,
    /// Those of this file, PEM.
    File(&'a Path),
}

fn read_web_roots(authorities: WebAuthorities<'_>) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
    match authorities {
        WebAuthorities::File(path) => {
            for certificate in read_certificates(path)? {
                store.add(certificate).map_err(|e| unreadable_file(path, &e))?;
            }
        }
        WebAuthorities::System => {
            let named = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
            let known = SYSTEM_BUNDLES.iter().map(std::path::PathBuf::from);
            let found = named.into_iter().chain(known).find(|path| path.is_file());
            if let Some(path) = found {
                // A bundle may hold authorities that nothing here understands.
                store.add_parsable_certificates(read_certificates(&path)?);
            }
        }
    }
    match store.is_empty() {
        true => Err(TlsSetupError(
            "this system has no list of authorities where one is looked for \
             (/etc/ssl/certs/ca-certificates.crt); install ca-certificates, or name a file"
                .into(),
        )),
        false => Ok(store),
    }
}

/// The name that the server's certificate is held against.
pub(in crate::client) fn server_name(host: &str) -> Result<ServerName<'static>, TlsSetupError> {
    ServerName::try_from(host.to_owned())
        .map_err(|_| TlsSetupError(format!("{host} is not a name that a certificate can hold")))
}

/// Why TLS with a server failed, in words where the library's own are none.
pub(in crate::client) fn explain_tls_error(error: &rustls::Error) -> String {
    let text = error.to_string();
    if text.contains("UnsupportedCertVersion") {
        return "the server's certificate is of X.509 version 1, which can't be verified; have its \
            authority issue one of version 3 with the server's name in subjectAltName, or use \
            --ssl-mode=REQUIRED, which verifies nothing"
            .to_owned();
    }
    if text.contains("not valid for name") {
        return format!(
            "{text}; the name must be in the certificate's subjectAltName; its common name (CN) \
             does not count; --ssl-mode=VERIFY_CA checks the authority only"
        );
    }
    text
}

fn unreadable_file(path: &Path, error: &dyn std::fmt::Display) -> TlsSetupError {
    TlsSetupError(format!("read {}: {error}", path.display()))
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let list = CertificateDer::pem_file_iter(path).map_err(|e| unreadable_file(path, &e))?;
    let list = list.collect::<Result<Vec<_>, _>>().map_err(|e| unreadable_file(path, &e))?;
    match list.is_empty() {
        true => Err(unreadable_file(path, &"no certificate in it")),
        false => Ok(list),
    }
}

/// The authorities of `--ssl-ca` and `--ssl-capath`.
fn read_root_certificates(plan: &SslPlan) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
    if let Some(path) = &plan.ca {
        for certificate in read_certificates(path)? {
            store.add(certificate).map_err(|e| unreadable_file(path, &e))?;
        }
    }
    if let Some(folder) = &plan.capath {
        let entries = std::fs::read_dir(folder).map_err(|e| unreadable_file(folder, &e))?;
        for path in entries.filter_map(|entry| entry.ok().map(|e| e.path())) {
            // Such folders hold other files too: keys, lists, names that point nowhere.
            if let Ok(list) = read_certificates(&path) {
                store.add_parsable_certificates(list);
            }
        }
    }
    match store.is_empty() {
        true => Err(TlsSetupError(
            "verifying the server needs an authority: --ssl-ca or --ssl-capath (the machine's \
             own: /etc/ssl/certs/ca-certificates.crt)"
                .into(),
        )),
        false => Ok(store),
    }
}

/// Believes any server, or any with a certificate from the given authorities, whatever its name.
#[derive(Debug)]
struct LenientVerifier {
    roots: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl LenientVerifier {
    fn new(provider: &CryptoProvider, roots: Option<RootCertStore>) -> Arc<LenientVerifier> {
        Arc::new(LenientVerifier { roots, algorithms: provider.signature_verification_algorithms })
    }
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Where nobody's certificate is asked for, its signature proves nothing; and servers make
        // themselves certificates of version 1, which can't be read.
        match self.roots {
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => rustls::crypto::verify_tls12_signature(
                message,
                certificate,
                signed,
                &self.algorithms,
            ),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.roots {
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => rustls::crypto::verify_tls13_signature(
                message,
                certificate,
                signed,
                &self.algorithms,
            ),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
