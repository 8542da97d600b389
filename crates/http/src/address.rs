//! Decides whether an address is public or inside a network. One table from the IANA registries of
//! special-purpose addresses; an address that is not certainly public counts as inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address, prefix length, and the word for error messages.
const IPV4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // Azure's agent and metadata service: a public address that always belongs to the host itself.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Parts of 2000::/3 that are not public. Every address outside of 2000::/3 counts as inside.
const IPV6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved (Teredo and others)"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// Prefix through which networks without IPv4 reach public IPv4 addresses.
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);

/// Returns why an address is not public, or `None` if it is public.
pub fn inside(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => inside_v4(address),
        IpAddr::V6(address) => inside_v6(address),
    }
}

fn inside_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |(first, prefix, _): &&(Ipv4Addr, u32, &str)| {
        address.to_bits() >> (32 - prefix) == first.to_bits() >> (32 - prefix)
    };
    IPV4.iter().find(within).map(|(_, _, what)| *what)
}

fn inside_v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |first: Ipv6Addr, prefix: u32| {
        address.to_bits() >> (128 - prefix) == first.to_bits() >> (128 - prefix)
    };
    if within(NAT64, 96) {
        let [.., a, b] = address.segments();
        return inside_v4(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b)));
    }
    if !within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3) {
        return Some(match address {
            Ipv6Addr::LOCALHOST => "loopback",
            Ipv6Addr::UNSPECIFIED => "unspecified",
            _ if address.to_ipv4_mapped().is_some() => "an IPv4 address in disguise",
            _ if address.is_multicast() => "multicast",
            _ if address.is_unicast_link_local() => "link-local",
            _ if address.is_unique_local() => "private",
            _ => "reserved",
        });
    }
    IPV6.iter().find(|(first, prefix, _)| within(*first, *prefix)).map(|(_, _, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_inside(text: &str) -> bool {
        inside(text.parse().unwrap()).is_some()
    }

    #[test]
    fn public_addresses_are_public_up_to_the_edges_of_each_range() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "168.63.129.15",
            "2606:4700::1111",
            "2001:200::1",
            "2a00::1",
            "64:ff9b::101:101",
        ] {
            assert!(!is_inside(address), "{address}");
        }
    }

    #[test]
    fn everything_else_is_inside() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "4000::1",
            "5f00::1",
        ] {
            assert!(is_inside(address), "{address}");
        }
    }
}
