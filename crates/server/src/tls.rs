//! The server's certificate: made at the first start and kept, so that a client that trusts it once may go on doing so, until it ends or
//! does not name an address that the operator has given.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapsedb_record::Clock;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

/// The folder in the data path, and the files in it.
pub const FOLDER: &str = "tls";
const FOLDER_NEW: &str = "tls.new";
const FOLDER_OLD: &str = "tls.old";
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
/// What the certificate was made for. Without this file it is somebody's own, and not touched.
const MADE: &str = "made";

const DAY_SECONDS: u64 = 86_400;
/// How long a certificate is good for. Many clients refuse one that is for more than 825 days.
const VALID_SECONDS: u64 = 820 * DAY_SECONDS;
/// How long before its making it begins, for clients whose clocks are behind.
const BEFORE_SECONDS: u64 = DAY_SECONDS;
/// How long before its end another one is made.
const RENEW_SECONDS: u64 = 30 * DAY_SECONDS;
/// No clock is taken to be later than this: the year 8307. Later ones do not fit into a certificate.
const CLOCK_SECONDS_MAX: u64 = 200_000_000_000;
/// The end of certificates as they were made before they had a limit.
const ENDLESS: &[u8] = b"40960101000000Z";

/// A certificate and its key, both as PEM text.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// For everybody.
    pub certificate: String,
    key: String,
}

/// What a certificate was made for.
struct Made {
    /// The second in which it ends.
    ends: u64,
    names: BTreeSet<String>,
}

impl Made {
    /// Reads `ends <second>` and `names <name> …`.
    fn read(text: &str) -> Option<Made> {
        let mut lines = text.lines();
        let ends = lines.next()?.strip_prefix("ends ")?.parse().ok()?;
        let names = lines.next()?.strip_prefix("names ")?;
        let names = names.split(' ').map(str::to_owned).collect();
        Some(Made { ends, names })
    }

    fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        format!("ends {}\nnames {}\n", self.ends, names.join(" "))
    }
}

impl Identity {
    /// The identity kept in the data path; made now if there is none yet, or if the one made before ends or lacks a name that
    /// the operator has given.
    pub fn load_or_make(data_path: &Path, given: &[String]) -> Result<Identity, String> {
        Identity::load_or_make_at(data_path, given, Clock::wall_now().secs().0)
    }

    fn load_or_make_at(data_path: &Path, given: &[String], now: u64) -> Result<Identity, String> {
        let folder = data_path.join(FOLDER);
        let read = |name: &str| match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!(
                "cannot read {}: {error}",
                folder.join(name).display()
            )),
        };
        let mut wanted = names(given);
        match (read(CERTIFICATE)?, read(KEY)?) {
            (Some(certificate), Some(key)) => {
                let made = read(MADE)?.as_deref().and_then(Made::read);
                let kept = Identity { certificate, key };
                let Some(why) = kept.outdated(made.as_ref(), given, now) else {
                    return Ok(kept);
                };
                tracing::warn!(
                    "{why}; another certificate is made, and clients that trust this one must trust the new one"
                );
                wanted.extend(made.into_iter().flat_map(|made| made.names));
            }
            (None, None) => {}
            // A new pair would break clients that trust the old one; that is for the owner to decide.
            (Some(_), None) | (None, Some(_)) => {
                return Err(format!(
                    "{} holds only one of {CERTIFICATE} and {KEY}; restore the other or remove both",
                    folder.display()
                ));
            }
        }
        let (identity, made) = Identity::make_at(wanted, now)?;
        identity
            .keep(data_path, &made)
            .map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
        Ok(identity)
    }

    /// Why a kept identity is not used any more.
    fn outdated(&self, made: Option<&Made>, given: &[String], now: u64) -> Option<String> {
        let Some(made) = made else {
            let endless = |der: Vec<u8>| der.windows(ENDLESS.len()).any(|part| part == ENDLESS);
            let ours = self.der().is_some_and(endless);
            return ours
                .then(|| "the certificate is good for longer than clients accept".to_owned());
        };
        if now.saturating_add(RENEW_SECONDS) >= made.ends {
            return Some("the certificate ends within 30 days".to_owned());
        }
        // The host's own name does not count: a container has another one at every start.
        let lacking = given.iter().find(|name| !made.names.contains(*name))?;
        Some(format!("the certificate does not name {lacking}"))
    }

    /// A new identity for this machine, signed by itself.
    pub fn make(given: &[String]) -> Result<Identity, String> {
        let made = Identity::make_at(names(given), Clock::wall_now().secs().0);
        made.map(|(identity, _)| identity)
    }

    fn make_at(names: BTreeSet<String>, now: u64) -> Result<(Identity, Made), String> {
        let begins = now.min(CLOCK_SECONDS_MAX).saturating_sub(BEFORE_SECONDS);
        let ends = begins + VALID_SECONDS;
        let at = |second| date_time_ymd(1970, 1, 1) + Duration::from_secs(second);
        let make = || {
            let mut params = CertificateParams::new(Vec::from_iter(names.iter().cloned()))?;
            params.not_before = at(begins);
            params.not_after = at(ends);
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
        let identity =
            make().map_err(|error: rcgen::Error| format!("cannot make a certificate: {error}"))?;
        Ok((identity, Made { ends, names }))
    }

    /// Writes all files or none: they appear with one rename.
    fn keep(&self, data_path: &Path, made: &Made) -> std::io::Result<()> {
        let (new, old) = (data_path.join(FOLDER_NEW), data_path.join(FOLDER_OLD));
        remove(&new)?;
        remove(&old)?;
        std::fs::DirBuilder::new().mode(0o700).create(&new)?;
        for (name, text) in [
            (CERTIFICATE, &self.certificate),
            (KEY, &self.key),
            (MADE, &made.text()),
        ] {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(new.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        let folder = data_path.join(FOLDER);
        // A crash between the two leaves no certificate, and the next start makes one.
        if folder.exists() {
            std::fs::rename(&folder, &old)?;
        }
        std::fs::rename(&new, &folder)?;
        std::fs::File::open(data_path)?.sync_all()?;
        remove(&old)
    }

    /// The certificate as clients see it.
    fn der(&self) -> Option<Vec<u8>> {
        let first = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok()?;
        Some(first.as_ref().to_vec())
    }

    /// The SHA-256 of the certificate, as tools show it: pairs of digits with colons between them.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.der().unwrap_or_default());
        let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        pairs.join(":")
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

/// Removes a folder that may not be there.
fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The names under which clients on this machine and beside it reach the server, and those that the operator has given.
fn names(given: &[String]) -> BTreeSet<String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().to_ascii_lowercase();
    let own = ["localhost", "127.0.0.1", "::1", host.as_str()];
    let own = own.iter().filter(|name| is_name(name));
    own.map(|name| (*name).to_owned())
        .chain(given.iter().cloned())
        .collect()
}

/// Whether a text can stand as a name in a certificate.
pub fn is_name(text: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
    !text.is_empty() && text.bytes().all(sign)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn load(folder: &Path) -> Result<Identity, String> {
        Identity::load_or_make(folder, &[])
    }

    #[test]
    fn the_first_certificate_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = load(dir.path()).unwrap();
        let again = load(dir.path()).unwrap();
        assert!(first == again);
        assert!(first != Identity::make(&[]).unwrap());
        let config = first.server_config().unwrap();
        assert_eq!(
            config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
    }

    /// The two dates of a certificate, each as `YYMMDDhhmmssZ`.
    fn dates(identity: &Identity) -> Vec<String> {
        let der = identity.der().unwrap();
        let dates = der.windows(15).filter(|part| {
            part.starts_with(&[0x17, 13])
                && part.ends_with(b"Z")
                && part[2..14].iter().all(u8::is_ascii_digit)
        });
        dates
            .map(|part| String::from_utf8(part[2..].to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn a_certificate_is_good_for_820_days() {
        // It is 2026-11-19 04:00:00, and 819 days later 2029-02-15.
        let (identity, made) = Identity::make_at(names(&[]), 1_795_060_800).unwrap();
        let expected = ["261118040000Z", "290215040000Z"];
        assert_eq!(dates(&identity), expected);
        assert_eq!(made.ends, 1_795_060_800 + 819 * DAY_SECONDS);
        for clock in [0, 1, CLOCK_SECONDS_MAX, u64::MAX] {
            Identity::make_at(names(&[]), clock).unwrap();
        }
    }

    #[test]
    fn another_is_made_in_time_and_for_names_that_are_given() {
        let dir = tempfile::tempdir().unwrap();
        let at = |given: &[&str], day: u64| {
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            let now = 1_795_060_800 + day * DAY_SECONDS;
            let identity = Identity::load_or_make_at(dir.path(), &given, now).unwrap();
            identity.server_config().unwrap();
            identity.fingerprint()
        };
        let first = at(&[], 0);
        assert_eq!(at(&[], 788), first);
        let second = at(&[], 789);
        assert_ne!(second, first);
        assert_eq!(at(&[], 789), second);
        let third = at(&["10.0.0.1", "db.example"], 790);
        assert_ne!(third, second);
        // What was given once stays, so that two ways to start do not take turns.
        assert_eq!(at(&["db.example"], 791), third);
        assert_eq!(at(&["10.0.0.1"], 792), third);
        assert_eq!(at(&[], 793), third);
        assert!(!dir.path().join(FOLDER_OLD).exists());
    }

    #[test]
    fn a_certificate_of_the_operators_own_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let own = load(dir.path()).unwrap();
        std::fs::remove_file(dir.path().join(FOLDER).join(MADE)).unwrap();
        let given = ["db.example".to_owned()];
        let late = Identity::load_or_make_at(dir.path(), &given, 9_000_000_000).unwrap();
        assert!(late == own);
    }

    #[test]
    fn a_certificate_without_an_end_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        load(dir.path()).unwrap();
        let folder = dir.path().join(FOLDER);
        let key = KeyPair::generate().unwrap();
        let endless = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let endless = endless.self_signed(&key).unwrap().pem();
        std::fs::write(folder.join(CERTIFICATE), &endless).unwrap();
        std::fs::write(folder.join(KEY), key.serialize_pem()).unwrap();
        std::fs::remove_file(folder.join(MADE)).unwrap();
        assert!(load(dir.path()).unwrap().certificate != endless);
    }

    #[test]
    fn only_the_owner_may_read_the_key() {
        let dir = tempfile::tempdir().unwrap();
        load(dir.path()).unwrap();
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
        load(dir.path()).unwrap().server_config().unwrap();
    }

    #[test]
    fn a_lone_or_damaged_file_is_told_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        load(dir.path()).unwrap();
        let folder = dir.path().join(FOLDER);
        std::fs::write(folder.join(KEY), "nonsense").unwrap();
        assert!(
            load(dir.path())
                .unwrap()
                .server_config()
                .is_err_and(|line| line.contains(KEY))
        );
        std::fs::remove_file(folder.join(KEY)).unwrap();
        assert!(load(dir.path()).is_err_and(|line| line.contains(KEY)));
    }
}
