//! Just enough of RFC 6455: a handshake, and text messages in one frame.

use std::io::{Error, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// The opcode of a text message.
pub const TEXT: u8 = 1;
/// The constant of RFC 6455 that a server hashes with the key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The head that opens a socket. The key needs no chance: nobody caches here.
pub fn opening(host: &str) -> String {
    let key = STANDARD.encode([7; 16]);
    format!(
        "GET / HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n"
    )
}

/// The key of a head that opens a socket.
pub fn key(head: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    })
}

/// The answer that opens a socket.
pub fn accepted(key: &str) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{GUID}").as_bytes());
    let accept = STANDARD.encode(hash.as_ref());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    )
}

/// Writes a text message of at most 65,535 bytes; a client masks it.
pub fn write(stream: &mut impl Write, text: &[u8], masked: bool) -> Result<(), Error> {
    let mask_bit = if masked { 0x80 } else { 0 };
    let mut frame = vec![0x80 | TEXT];
    match u8::try_from(text.len()).ok().filter(|length| *length < 126) {
        Some(length) => frame.push(mask_bit | length),
        None => {
            frame.push(mask_bit | 126);
            frame.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
        }
    }
    if masked {
        // a mask of zeros changes nothing
        frame.extend_from_slice(&[0; 4]);
    }
    frame.extend_from_slice(text);
    stream.write_all(&frame)?;
    stream.flush()
}

/// Reads one frame: its opcode and content. `None` at the end of the connection.
pub fn read(stream: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => return None,
        length => usize::from(length),
    };
    let mut mask = [0; 4];
    if head[1] & 0x80 != 0 {
        stream.read_exact(&mut mask).ok()?;
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).ok()?;
    bytes.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((head[0] & 0x0f, bytes))
}
