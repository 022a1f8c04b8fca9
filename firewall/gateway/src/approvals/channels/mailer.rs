//! Mail over SMTP.

use std::time::Duration;

use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters, TlsVersion};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use semgate_approvals::render::{Card, Links, mail};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::fault::{ChannelFault, fault, random_text, read};
use crate::config::{MailConfig, MailSecurity};
use crate::fault::RunFault;

/// Time of one command to the server. Common servers greet within ten seconds.
const TIME: Duration = Duration::from_secs(20);

/// The way to a mail server. Each mail has a connection of its own.
pub(super) struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// Keeps automatic answers away (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl Mailer {
    /// # Errors
    /// Unreadable roots or credentials.
    pub(super) fn open(config: &MailConfig) -> Result<Self, RunFault> {
        let server = &config.server;
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
            .port(server.port)
            .hello_name(ClientId::Domain(config.from.domain().to_owned()))
            .timeout(Some(TIME))
            .tls(match server.security {
                MailSecurity::Implicit => Tls::Wrapper(tls(config)?),
                MailSecurity::StartTls => Tls::Required(tls(config)?),
                MailSecurity::Loopback => Tls::None,
            });
        if let Some(path) = &config.credentials {
            let text = read(path, "mail credentials")?;
            let (user, password) = text
                .trim_end()
                .split_once(':')
                .ok_or_else(|| fault(path, "mail credentials", &"it must hold `USER:PASSWORD`"))?;
            builder = builder.credentials(Credentials::new(user.to_owned(), password.to_owned()));
        }
        Ok(Self { transport: builder.build(), from: Mailbox::new(None, config.from.clone()) })
    }

    /// Sends a card to an address.
    ///
    /// # Errors
    /// The address is no mail address, or the server refused the mail or did not answer.
    pub(super) async fn send(&self, card: &Card, links: &Links, to: &str) -> Result<(), ChannelFault> {
        let to: Address = to.parse().map_err(|_| ChannelFault::Refused)?;
        let content = mail(card, links).map_err(|_| ChannelFault::Refused)?;
        let id = format!("<{}.{}@{}>", card.id(), random_text()?, self.from.email.domain());
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(content.subject)
            .message_id(Some(id))
            .header(AutoSubmitted)
            .multipart(MultiPart::alternative_plain_html(content.text, content.html))
            .map_err(|_| ChannelFault::Refused)?;
        match self.transport.send(message).await {
            Ok(_) => Ok(()),
            Err(why) if why.is_permanent() => Err(ChannelFault::Refused),
            Err(why) => {
                // the text names the server's answer or the transport's fault, and no content
                tracing::debug!(%why, "the mail server took no mail");
                Err(ChannelFault::Unreachable)
            }
        }
    }
}

fn tls(config: &MailConfig) -> Result<TlsParameters, RunFault> {
    let builder = TlsParameters::builder(config.server.host.clone());
    let mut builder = builder.set_min_tls_version(TlsVersion::Tlsv13);
    if let Some(path) = &config.roots {
        builder = builder.certificate_store(CertificateStore::None);
        let what = "roots of the mail server";
        let text = read(path, what)?;
        let mut count = 0_usize;
        for root in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let root = root.map_err(|why| fault(path, what, &why))?;
            let root = Certificate::from_der(root.to_vec()).map_err(|why| fault(path, what, &why))?;
            builder = builder.add_root_certificate(root);
            count = count.saturating_add(1);
        }
        if count == 0 {
            return Err(fault(path, what, &"it holds no root"));
        }
    }
    builder.build().map_err(|why| RunFault::Tls { why: why.to_string() })
}
