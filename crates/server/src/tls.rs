//! The server's certificate: made at the first start and kept, so that a client that trusts it once may go on doing so.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The folder in the data path, and the files in it.
pub const FOLDER: &str = "tls";
const FOLDER_NEW: &str = "tls.new";
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";

/// A certificate and its key, both as PEM text.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// For everybody.
    pub certificate: String,
    key: String,
}

impl Identity {
    /// The identity kept in the data path; made now if there is none yet.
    pub fn load_or_make(data_path: &Path) -> Result<Identity, String> {
        let folder = data_path.join(FOLDER);
        let read = |name: &str| match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!(
                "cannot read {}: {error}",
                folder.join(name).display()
            )),
        };
        match (read(CERTIFICATE)?, read(KEY)?) {
            (Some(certificate), Some(key)) => Ok(Identity { certificate, key }),
            (None, None) => {
                let identity = Identity::make()?;
                identity
                    .keep(data_path)
                    .map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
                Ok(identity)
            }
            // A new pair would break clients that trust the old one; that is for the owner to decide.
            (Some(_), None) | (None, Some(_)) => Err(format!(
                "{} holds only one of {CERTIFICATE} and {KEY}; restore the other or remove both",
                folder.display()
            )),
        }
    }

    /// A new identity for this machine, signed by itself.
    pub fn make() -> Result<Identity, String> {
        let make = || {
            let mut params = CertificateParams::new(names())?;
            params
                .distinguished_name
                .push(DnType::CommonName, "localhost");
            params
                .distinguished_name
                .push(DnType::OrganizationName, "LapseDB");
            params.is_ca = IsCa::ExplicitNoCa;
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let key = KeyPair::generate()?;
            let certificate = params.self_signed(&key)?;
            Ok(Identity {
                certificate: certificate.pem(),
                key: key.serialize_pem(),
            })
        };
        make().map_err(|error: rcgen::Error| format!("cannot make a certificate: {error}"))
    }

    /// Writes both files or none: they appear with one rename.
    fn keep(&self, data_path: &Path) -> std::io::Result<()> {
        let new = data_path.join(FOLDER_NEW);
        match std::fs::remove_dir_all(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        std::fs::DirBuilder::new().mode(0o700).create(&new)?;
        for (name, text, mode) in [
            (CERTIFICATE, &self.certificate, 0o600),
            (KEY, &self.key, 0o600),
        ] {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(new.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        std::fs::rename(&new, data_path.join(FOLDER))?;
        std::fs::File::open(data_path)?.sync_all()
    }

    /// What the listener needs. The crypto provider is named: where two are linked in, a default would panic.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, String> {
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let chain =
            chain.map_err(|error| format!("{CERTIFICATE} is not a PEM certificate: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| format!("{KEY} is not a PEM key: {error}"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| format!("the certificate and its key cannot be used: {error}"))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The names under which clients on this machine and beside it reach the server.
fn names() -> Vec<String> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().to_ascii_lowercase();
    let sound = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.');
    if sound && !names.contains(&host) {
        names.push(host);
    }
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_certificate_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = Identity::load_or_make(dir.path()).unwrap();
        let again = Identity::load_or_make(dir.path()).unwrap();
        assert!(first == again);
        assert!(first != Identity::make().unwrap());
        let config = first.server_config().unwrap();
        assert_eq!(
            config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
    }

    #[test]
    fn only_the_owner_may_read_the_key() {
        let dir = tempfile::tempdir().unwrap();
        Identity::load_or_make(dir.path()).unwrap();
        let key = dir.path().join(FOLDER).join(KEY);
        assert_eq!(
            std::fs::metadata(key).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn what_a_crash_left_half_written_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FOLDER_NEW)).unwrap();
        std::fs::write(dir.path().join(FOLDER_NEW).join(KEY), "half").unwrap();
        Identity::load_or_make(dir.path())
            .unwrap()
            .server_config()
            .unwrap();
    }

    #[test]
    fn a_lone_or_damaged_file_is_told_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        Identity::load_or_make(dir.path()).unwrap();
        let folder = dir.path().join(FOLDER);
        std::fs::write(folder.join(KEY), "nonsense").unwrap();
        assert!(
            Identity::load_or_make(dir.path())
                .unwrap()
                .server_config()
                .is_err_and(|line| line.contains(KEY))
        );
        std::fs::remove_file(folder.join(KEY)).unwrap();
        assert!(Identity::load_or_make(dir.path()).is_err_and(|line| line.contains(KEY)));
    }
}
