//! Which addresses may be fetched: http and https on the public internet, and private hosts named by the
//! user. Ranges follow IANA's special-purpose address registries (IPv4 and IPv6, updated 2025-10-09), except
//! that documentation ranges count as public: no one owns them, and gateways of closed networks use them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// A longer address is more likely to leak data than to name a page.
const MAX_CHARS: usize = 2_000;

/// Parses a page's address and drops the fragment. Public hosts are upgraded to https.
pub fn parse(text: &str, private: &[String]) -> Result<Url, String> {
    let text = text.trim();
    if text.len() > MAX_CHARS {
        return Err(format!("the address has more than {MAX_CHARS} characters"));
    }
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = Url::parse(&whole).map_err(|error| format!("invalid address '{text}': {error}"))?;
    accept(url, private)
}

/// Like [`parse`] for an address given by a server.
pub fn accept(mut url: Url, private: &[String]) -> Result<Url, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https addresses can be fetched, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a user name or password is not fetched; leave them out".to_owned());
    }
    let Some(host) = url.host_str() else { return Err("the address names no host".to_owned()) };
    let named = is_named(&url, private);
    match literal(host) {
        Some(ip) if !named && !is_public(ip) => return Err(private_host(host, ip)),
        None if !named && url.scheme() == "http" && url.port().is_none() => {
            let _ = url.set_scheme("https");
        }
        _ => {}
    }
    url.set_fragment(None);
    Ok(url)
}

pub fn private_host(host: &str, ip: IpAddr) -> String {
    format!(
        "{host} is at {ip}, which isn't a public internet address. Only the user can allow that, with \
         web_private_hosts in their config.toml"
    )
}

/// The host that permission is asked for: without `www.`, with a non-default port.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let host = host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether a redirect needs no permission of its own.
pub fn same_place(from: &Url, to: &Url) -> bool {
    host(from) == host(to) && (from.scheme() == to.scheme() || to.scheme() == "https")
}

pub fn is_named(url: &Url, private: &[String]) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
    private.iter().map(|named| named.trim().to_ascii_lowercase()).any(|named| {
        named == host
            || named == with_port
            || named.strip_prefix('*').is_some_and(|end| end.len() > 1 && host.ends_with(end))
    })
}

pub fn literal(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || a == 0
        || a >= 224
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let parts = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // An embedded IPv4 address: mapped, NAT64 or 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Protocol assignments, including Teredo.
        [0x2001, second, ..] if second < 0x200 => false,
        // All public unicast addresses are in 2000::/3.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for ip in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn addresses_of_pages() {
        let own = ["localhost:3000".to_owned(), "Docs.corp".to_owned(), "*.lan".to_owned()];
        for (text, expected) in [
            ("docs.rs/serde#top", Ok("https://docs.rs/serde")),
            ("http://example.org/a?b=1", Ok("https://example.org/a?b=1")),
            ("http://example.org:8080/", Ok("http://example.org:8080/")),
            ("http://localhost:3000/x", Ok("http://localhost:3000/x")),
            ("http://docs.corp", Ok("http://docs.corp/")),
            ("http://wiki.lan/", Ok("http://wiki.lan/")),
            ("http://1.1.1.1/", Ok("http://1.1.1.1/")),
            ("http://2130706433/", Err("127.0.0.1")),
            ("http://0x7f.1/", Err("127.0.0.1")),
            ("http://[::ffff:a9fe:a9fe]/latest", Err("web_private_hosts")),
            ("https://user:pw@example.org/", Err("user name")),
            ("https://user@example.org/", Err("user name")),
            ("file:///etc/passwd", Err("only http")),
            ("ftp://example.org/", Err("only http")),
            ("https://", Err("invalid address")),
        ] {
            let parsed = parse(text, &own);
            match (expected, &parsed) {
                (Ok(url), Ok(parsed)) => assert_eq!(parsed.as_str(), url),
                (Err(part), Err(error)) => assert!(error.contains(part), "{text}: {error}"),
                _ => assert_eq!(parsed.as_ref().map(Url::as_str).ok(), expected.ok(), "{text}"),
            }
        }
        assert!(parse(&format!("https://x/{}", "a".repeat(3_000)), &[]).is_err());
    }

    #[test]
    fn leave_is_asked_by_host() {
        let url = |text: &str| Url::parse(text).unwrap();
        for (text, expected) in [
            ("https://www.Example.org/a", "example.org"),
            ("https://docs.example.org./", "docs.example.org"),
            ("https://example.org:443/", "example.org"),
            ("https://example.org:8443/", "example.org:8443"),
            ("https://www.org/", "www.org"),
            ("https://münchen.de/", "xn--mnchen-3ya.de"),
        ] {
            assert_eq!(host(&url(text)), expected);
        }
        let same = |from: &str, to: &str| same_place(&url(from), &url(to));
        assert!(same("http://example.org/", "https://www.example.org/b"));
        assert!(!same("https://example.org/", "http://example.org/"));
        assert!(!same("https://example.org/", "https://example.org:8443/"));
        assert!(!same("https://example.org/", "https://example.org.evil.net/"));
    }
}
