//! A session check with axum: a signed cookie, and SQLite for the sessions.
//!
//!     peer load DATA DATABASE     writes DATA/sessions.tsv into DATABASE
//!     peer serve DATA DATABASE PORT

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::Router;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use rand::rngs::ThreadRng;
use rand::RngCore;
use rusqlite::{Connection, OptionalExtension};
use sha2::Sha256;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SELECT: &str = "SELECT user FROM sessions WHERE id = ?1";

struct Site {
    /// Keyed once; each check clones it.
    mac: Hmac<Sha256>,
    database: Mutex<Connection>,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    csp: (String, String),
}

thread_local! {
    static RANDOM: RefCell<ThreadRng> = RefCell::new(rand::rng());
}

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();

    match args[..] {
        ["load", data, database] => load(data, database),
        ["serve", data, database, port] => serve(data, database, port),
        _ => {
            Err("usage: peer load DATA DATABASE | serve DATA DATABASE PORT"
                .into())
        }
    }
}

fn load(data: &str, database: &str) -> Result<(), Failure> {
    let mut connection = Connection::open(database)?;

    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, user TEXT NOT NULL)
             WITHOUT ROWID",
    )?;

    let transaction = connection.transaction()?;

    for line in fs::read_to_string(format!("{data}/sessions.tsv"))?.lines() {
        let (id, user) = line.split_once('\t').ok_or("a row of one column")?;

        transaction
            .prepare_cached("INSERT INTO sessions VALUES (?1, ?2)")?
            .execute([id, user])?;
    }

    Ok(transaction.commit()?)
}

/// This process alone uses the database, so SQLite need not lock it for each
/// read.
fn open(database: &str) -> Result<Connection, Failure> {
    let connection = Connection::open(database)?;

    connection.pragma_update(None, "locking_mode", "exclusive")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "mmap_size", 1_i64 << 30)?;
    connection.pragma_update(None, "cache_size", -65536)?;

    Ok(connection)
}

fn site(data: &str, database: &str) -> Result<Site, Failure> {
    let hex = fs::read_to_string(format!("{data}/key"))?;
    let hex = hex.trim();
    let key = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16))
        .collect::<Result<Vec<u8>, _>>()?;
    let mut headers =
        vec![(header::CONTENT_TYPE, HeaderValue::from_static("text/html"))];
    let mut csp = (String::new(), String::new());

    for line in fs::read_to_string(format!("{data}/headers"))?.lines() {
        let (name, value) = line.split_once(": ").ok_or("half a header")?;

        if let Some((before, after)) = value.split_once("NONCE") {
            csp = (before.into(), after.into());
        } else {
            headers.push((name.parse()?, value.parse()?));
        }
    }

    Ok(Site {
        mac: Hmac::new_from_slice(&key)?,
        database: Mutex::new(open(database)?),
        body: fs::read(format!("{data}/body"))?.into(),
        headers,
        csp,
    })
}

fn serve(data: &str, database: &str, port: &str) -> Result<(), Failure> {
    let site = Arc::new(site(data, database)?);
    let app = Router::new()
        .route("/protected", get(protected))
        .with_state(site);

    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(async {
            let address = format!("127.0.0.1:{port}");
            let listener = tokio::net::TcpListener::bind(address)
                .await?
                .tap_io(|stream| drop(stream.set_nodelay(true)));

            Ok(axum::serve(listener, app).await?)
        })
}

async fn protected(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
) -> Response<Body> {
    if user(&site, &headers).is_none() {
        let mut response = Response::new(Body::empty());

        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return response;
    }

    let mut response = Response::new(Body::from(site.body.clone()));

    for (name, value) in &site.headers {
        response.headers_mut().append(name, value.clone());
    }

    if let Ok(value) = HeaderValue::try_from(csp(&site)) {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, value);
    }

    response
}

/// A row of one user in SQLite's cache takes microseconds, less than a trip to
/// another thread and back.
fn user(site: &Site, headers: &HeaderMap) -> Option<String> {
    let id = signed(site, cookie(headers)?)?;
    let database = site.database.lock().ok()?;
    let mut select = database.prepare_cached(SELECT).ok()?;

    select.query_row([id], |row| row.get(0)).optional().ok()?
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .find_map(|pair| pair.trim().strip_prefix("session="))
}

fn signed<'a>(site: &Site, value: &'a str) -> Option<&'a str> {
    let (id, given) = value.split_once('.')?;
    let mut mac = [0; 32];

    if URL_SAFE_NO_PAD.decode_slice(given, &mut mac) != Ok(mac.len()) {
        return None;
    }

    site.mac
        .clone()
        .chain_update(id)
        .verify_slice(&mac)
        .is_ok()
        .then_some(id)
}

fn csp(site: &Site) -> String {
    let mut bytes = [0; 16];
    let mut text =
        String::with_capacity(site.csp.0.len() + 24 + site.csp.1.len());

    RANDOM.with_borrow_mut(|random| random.fill_bytes(&mut bytes));

    text.push_str(&site.csp.0);
    STANDARD.encode_string(bytes, &mut text);
    text.push_str(&site.csp.1);

    text
}
