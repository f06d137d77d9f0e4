//! Explains network errors of a sandboxed command, which otherwise look like a server that is down.

use guard::sandbox::spec::Confinement;

const REFUSED: &[&str] =
    &["connection refused", "econnrefused", "couldn't connect to", "could not connect to"];
const LOOPBACK: &[&str] = &["127.0.0.1", "localhost", "::1", "0.0.0.0"];
const NO_NETWORK: &[&str] = &[
    "could not resolve host",
    "couldn't resolve host",
    "name or service not known",
    "temporary failure in name resolution",
    "name resolution",
    "network is unreachable",
    "enetunreach",
    "getaddrinfo enotfound",
    "eai_again",
    "no such host",
    "dial tcp: lookup",
    "failed to lookup address",
    "unknownhostexception",
];

/// A note for the model; `None` if the command had network access or shows no such error.
pub fn of(confinement: &Confinement, command: &str, output: &str) -> Option<&'static str> {
    let Confinement::Confined { network: false, .. } = confinement else { return None };
    let (command, output) = (command.to_lowercase(), output.to_lowercase());
    let says = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
    if says(REFUSED) && (says(LOOPBACK) || LOOPBACK.iter().any(|host| command.contains(host))) {
        return Some(
            "commands have a loopback of their own: servers of the host cannot be reached at localhost. Start the server \
             with `background: true`, or repeat the call with `network: true` if the user may be asked",
        );
    }
    says(NO_NETWORK).then_some(
        "this command has no network. If it needs one, repeat the call with `network: true`; the user is asked",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard::sandbox::spec::SandboxLevel;

    #[test]
    fn only_without_a_network_and_only_where_one_is_missed() {
        let confined =
            |network| Confinement::Confined { level: SandboxLevel::Workspace, network, opened: Vec::new() };
        let curl =
            "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server";
        let node = "Error: connect ECONNREFUSED 127.0.0.1:5432";
        for (command, output, part) in [
            ("curl localhost:8080", curl, "loopback of their own"),
            ("npm test", node, "loopback of their own"),
            ("psql -h localhost", "psql: error: Connection refused", "loopback of their own"),
            ("go mod tidy", "dial tcp: lookup proxy.golang.org: no such host", "no network"),
        ] {
            assert!(
                of(&confined(false), command, output).is_some_and(|said| said.contains(part)),
                "{command}"
            );
            assert_eq!(of(&confined(true), command, output), None);
            assert_eq!(of(&Confinement::Free, command, output), None);
        }
        assert_eq!(of(&confined(false), "cargo test", "test connection ... ok"), None);
        assert_eq!(
            of(&confined(false), "ssh example.com", "ssh: connect to host x: Connection refused"),
            None
        );
    }
}
