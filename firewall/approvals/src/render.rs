//! Cards: a request as people see it on each channel (F1-22).
//!
//! A [`Card`] keeps two sorts of text apart. The gateway's own words stand in fixed fields. Text that an agent chose stands in
//! marked fields only: each of its lines begins with a bar, invisible characters are shown as codes, and no renderer lets it
//! become markup. So agent text that imitates a card stays inside its field.

mod card;
mod changes;
mod click;
mod mail;
mod page;
mod quote;
mod slack;
mod teams;
mod terminal;
mod visible;

#[cfg(test)]
mod tests;

pub use card::{Background, Card, Links};
pub use changes::{Change, changes};
pub use click::{Choice, Click};
pub use mail::{Mail, mail};
pub use page::{Form, Notice, STYLE, confirmation, notice};
pub use slack::slack;
pub use teams::teams;
pub use terminal::terminal;
pub use visible::{visible, visible_line};
