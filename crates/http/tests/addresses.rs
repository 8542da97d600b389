//! Requests that try to reach a private network: by address, by name, by redirection.
#![allow(clippy::unwrap_used)]

mod stage;

use std::net::Ipv4Addr;
use std::sync::Arc;

use rhythm_http::{AllowList, Client};
use serde_json::json;
use stage::{Names, Server, client, is, reply, send};

/// All spellings of an IPv4 address that some program accepts.
fn disguises(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets().map(u32::from);
    let whole = address.to_bits();
    let (low24, low16) = (whole & 0xff_ffff, whole & 0xffff);
    let (high, low) = (whole >> 16, low16);
    let round = |text: String, zero: u32| -> String {
        let digit = |sign: char| match sign.to_digit(10) {
            Some(digit) => char::from_u32(zero + digit).unwrap(),
            None => sign,
        };
        text.chars().map(digit).collect()
    };
    let percent: String = format!("{a}.{b}").bytes().map(|byte| format!("%{byte:02x}")).collect();
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{whole}"),
        format!("{whole}."),
        format!("0x{whole:x}"),
        format!("0X{whole:X}"),
        format!("0x00000{whole:x}"),
        format!("0{whole:o}"),
        format!("0000{whole:o}"),
        format!("{a}.{low24}"),
        format!("{a}.{b}.{low16}"),
        format!("0x{a:x}.{low24}"),
        format!("0{a:o}.0x{low24:x}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0X{a:X}.0x{b:02x}.{c}.{d}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("00{a:o}.000{b:o}.0000{c:o}.{d}"),
        format!("{a}.0x{b:x}.0{c:o}.{d}"),
        format!("{a}.0{b:o}.0x{low16:x}"),
        format!("{a}。{b}。{c}。{d}"),
        format!("{a}．{b}．{c}．{d}"),
        format!("{a}｡{b}｡{c}｡{d}"),
        round(format!("{a}.{b}.{c}.{d}"), 0xff10),
        round(format!("{a}.{b}.{c}.{d}"), 0x1d7ce),
        round(format!("{whole}"), 0x1d7d8),
        format!("{percent}.{c}.{d}"),
        format!("%30%78{whole:x}"),
        format!("[::ffff:{a}.{b}.{c}.{d}]"),
        format!("[::ffff:{high:x}:{low:x}]"),
        format!("[::FFFF:{high:X}:{low:X}]"),
        format!("[0:0:0:0:0:ffff:{high:x}:{low:x}]"),
        format!("[0000:0000:0000:0000:0000:ffff:{a}.{b}.{c}.{d}]"),
        format!("[::{a}.{b}.{c}.{d}]"),
        format!("[::{high:x}:{low:x}]"),
        format!("[::ffff:0:{a}.{b}.{c}.{d}]"),
        format!("[64:ff9b::{a}.{b}.{c}.{d}]"),
        format!("[64:ff9b::{high:x}:{low:x}]"),
        format!("[64:ff9b:1::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::1]"),
    ]
}

#[tokio::test]
async fn no_way_to_write_an_address_hides_it() {
    // None of these is a name, so the resolver must not be called.
    let names = Arc::new(Names::default());
    let client = Client::with_resolver(AllowList::default(), names.clone());
    let mut tried = 0;
    for address in ["127.0.0.1", "169.254.169.254", "10.1.2.3", "0.0.0.0"] {
        for host in disguises(address.parse().unwrap()) {
            for url in [format!("http://{host}/latest/meta-data"), format!("https://{host}:8443/")] {
                tried += 1;
                let failure = send(&client, json!({"url": url})).await.unwrap_err();
                assert!(matches!(&*failure.code, "HTTP_BLOCKED" | "BAD_PAYLOAD"), "{url}: {failure}");
                assert!(!failure.retryable, "{url}");
            }
        }
    }
    for host in
        ["[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]", "255.255.255.255"]
    {
        tried += 1;
        let failure = send(&client, json!({"url": format!("http://{host}/")})).await.unwrap_err();
        is(&failure, "HTTP_BLOCKED", false);
    }
    assert!(tried > 300);
    assert_eq!(*names.asked.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_is_as_good_as_the_worst_of_its_addresses() {
    let inside: [&[&str]; 6] = [
        &["127.0.0.1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["::ffff:127.0.0.1"],
        &["93.184.215.14", "192.168.0.1"],
        &["2606:4700::1111", "fd00::1"],
    ];
    for addresses in inside {
        let client =
            Client::with_resolver(AllowList::default(), Arc::new(Names::of(&[("a.test", addresses)])));
        let failure = send(&client, json!({"url": "http://a.test/x?token=secret"})).await.unwrap_err();
        is(&failure, "HTTP_BLOCKED", false);
        assert!(failure.message.contains("the address of a.test is not public"), "{failure}");
        assert!(failure.message.contains("--allow-host a.test"), "{failure}");
        assert!(!failure.message.contains("secret"), "{failure}");
    }
}

#[tokio::test]
async fn localhost_is_inside_with_the_systems_own_resolver() {
    let server = Server::start(|_, _| reply("200 OK", &[], "")).await;
    let client = Client::new(AllowList::default());
    for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
        is(&send(&client, json!({"url": server.url(host, "/")})).await.unwrap_err(), "HTTP_BLOCKED", false);
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    let allowed = Client::new(AllowList::parse([format!("localhost:{}", server.address.port())]).unwrap());
    assert_eq!(send(&allowed, json!({"url": server.url("localhost", "/")})).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_name_is_asked_for_once_and_connected_to_as_it_was_answered() {
    let server = Server::start(|_, _| reply("200 OK", &[], "")).await;
    // A second lookup would return an address where no server listens.
    let names = Arc::new(Names::of(&[("home.test", &["127.0.0.1"])]).then("home.test", "127.0.0.2"));
    let client = Client::with_resolver(AllowList::parse(["home.test"]).unwrap(), names.clone());
    assert_eq!(send(&client, json!({"url": server.url("home.test", "/")})).await.unwrap().status, 200);
    assert_eq!(*names.asked.lock().unwrap(), ["home.test"]);
}

#[tokio::test]
async fn no_redirection_leads_inside() {
    let server = Server::start(|request, port| {
        let path = request.split(' ').nth(1).unwrap();
        let to = match path {
            "/name" => format!("http://inner.test:{port}/"),
            "/address" => format!("http://127.0.0.1:{port}/"),
            "/decimal" => format!("//2130706433:{port}/"),
            "/metadata" => "http://169.254.169.254/latest/meta-data/".to_owned(),
            "/chain" => format!("http://other.test:{port}/address"),
            _ => return reply("200 OK", &[], "inside"),
        };
        reply("302 Found", &[("location", &to)], "")
    })
    .await;
    for path in ["/name", "/address", "/decimal", "/metadata", "/chain"] {
        let failure = send(&client(), json!({"url": server.url("home.test", path)})).await.unwrap_err();
        is(&failure, "HTTP_BLOCKED", false);
    }
    let inside = server.requests().iter().filter(|request| request.starts_with("GET / ")).count();
    assert_eq!(inside, 0, "nobody got in");
}
