//! The last steps of a publication before the sequencer: the size of its document, the signer of its line, and the statement.

use semgate_certs::Chain;
use semgate_contexts::{Context, Line};
use semgate_statement::{OwnStatement, Statement, Status};

use super::App;
use super::problem::{Code, Problem};
use super::references::References;
use super::storage::broken;
use crate::clock::now;
use crate::keys::{Signer, SignerFault};
use crate::submit::{Request, index_of};

/// A signed document, the chain of the certificate that signed it, and the bytes that it takes in a gateway.
pub(super) struct SignedDocument {
    pub bytes: Vec<u8>,
    pub chain: Chain,
    pub compiled: u64,
}

/// The compiled size of a document, once the sizes of all other versions of its line are known: the sequencer adds up those that count. A
/// version with an unreadable document takes nothing in a gateway either.
pub(super) fn compiled(app: &App, document: &Context) -> Result<u64, Problem> {
    let line = document.urn().line();
    if !app.compiled.has_line(line) {
        let versions = index_of(&app.index).of_line(document.urn()).map_err(|fault| broken(app, &fault))?;
        let count = versions.into_iter().filter(|(_, record)| record.status != Status::Invalid);
        // one at a time, so that only one is in memory
        let sizes = count.filter_map(|(urn, record)| {
            Some((record.digest, References::new(app).find(&urn)?.compiled_bytes()))
        });
        app.compiled.take_line(line, sizes.collect());
    }
    Ok(document.compiled_bytes())
}

/// The statement that publishes a signed document. The authority's own signer of the line signs it; `signer` names the certificate that
/// signed the document. `seen` is a log size: the document was compared with every version up to it.
pub(super) fn publish_request(
    app: &App,
    document: &Context,
    signed: SignedDocument,
    signer: Signer,
    seen: u64,
) -> Result<Request, Problem> {
    let SignedDocument { bytes, chain, compiled } = signed;
    let Signer { identity: ours, minted } = signer;
    let statement = Statement::Publish {
        urn: document.urn().clone(),
        digest: *document.digest(),
        signer: chain.thumbprint(),
    };
    let statement =
        OwnStatement::sign(statement, &ours, &app.keys.random).map_err(|fault| Problem::unsigned(&fault))?;
    let chains = vec![ours.chain.clone(), chain];
    let references = document.references().iter().map(|other| other.urn().clone()).collect();
    let statement = Box::new(statement);
    Ok(Request::Publish { statement, document: bytes, chains, minted, compiled, seen, references })
}

/// The signer of a line. A new one is stored with the publication that needs it, and with no other.
pub(super) fn signer(app: &App, line: &Line) -> Result<Signer, Problem> {
    app.signers.of(line, now()).map_err(|fault| match fault {
        SignerFault::NotDelegated(what) => Problem::new(Code::LineNotDelegated, what),
        SignerFault::Issuing(what) => {
            tracing::error!("cannot make a signer with the issuing certificate for contexts: {what}");
            let what = format!("the issuing certificate of this authority cannot make a signer now: {what}");
            Problem::new(Code::SignerUnavailable, what)
        }
        SignerFault::Unsigned(fault) => Problem::unsigned(&fault.into()),
    })
}
