//! Look-alikes: letters of other alphabets, digits and signs that stand for Latin letters.

use unicode_security::skeleton as prototypes;

/// Least pairs of a letter and a sign before signs are read as letters.
const LEET_PAIRS: usize = 3;
/// Most signs of a word without any letter that is read too.
const SHORT_WORD: usize = 3;

/// A Latin letter that looks like this one. The table of Unicode ends at a small capital for some of them.
fn latin(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    let mut found_letters = prototypes(text);
    let (first, second, third) = (found_letters.next()?, found_letters.next(), found_letters.next());
    match (first, second, third) {
        ('r', Some('n'), None) => Some('m'),
        (letter, None, _) if letter.is_ascii_alphabetic() => Some(letter.to_ascii_lowercase()),
        (letter, None, _) => small_capital(letter),
        _ => None,
    }
}

fn small_capital(c: char) -> Option<char> {
    const FROM: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɩıßðþøłđħŧκʋμηвнтмкгпс";
    const TO: &str = "abcdefghijklmnoprstuvwyziisdpoldhtkvunbhtmkrnc";
    FROM.chars().zip(TO.chars()).find(|(from, _)| *from == c).map(|(_, to)| to)
}

/// The text with letters of other alphabets read as the Latin letters that they look like.
pub(super) fn skeleton(folded: &str) -> Option<String> {
    if folded.is_ascii() {
        return None;
    }
    let mut changed = false;
    let read = folded.chars().map(|c| match c.is_ascii() || !c.is_alphabetic() {
        true => c,
        false => latin(c).inspect(|_| changed = true).unwrap_or(c),
    });
    let read: String = read.collect();
    changed.then_some(read)
}

fn letter(c: char) -> Option<char> {
    Some(match c {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' | '€' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        _ => return None,
    })
}

/// The text with digits and signs inside words read as letters, if at least three of them stand among letters.
pub(super) fn unleet(base: &str) -> Option<String> {
    let mut pairs = 0;
    let mut before = [' '; 2];
    for c in base.chars() {
        let inside = before[0].is_ascii_lowercase() && letter(before[1]).is_some() && c.is_ascii_lowercase();
        let opens = letter(before[0]).is_some() && before[1].is_ascii_lowercase() && c.is_ascii_lowercase();
        pairs += usize::from(inside || opens);
        before = [before[1], c];
    }
    if pairs < LEET_PAIRS {
        return None;
    }
    let mut read = String::with_capacity(base.len());
    for word in base.split_inclusive(char::is_whitespace) {
        let inner = word.trim_end_matches(|c: char| {
            c.is_whitespace() || matches!(c, '!' | '|' | '+' | '.' | ',' | '?' | ':')
        });
        let spelled = inner.bytes().any(|b| b.is_ascii_lowercase()) && !inner.contains("://");
        if spelled || (inner.chars().count() <= SHORT_WORD && inner.chars().all(|c| letter(c).is_some())) {
            read.extend(inner.chars().map(|c| letter(c).unwrap_or(c)));
            read.push_str(word.get(inner.len()..).unwrap_or_default());
        } else {
            read.push_str(word);
        }
    }
    (read != base).then_some(read)
}
