//! Contexts from Protobuf: the JSON mapping of messages (ProtoJSON), in its one canonical spelling (F0-17).
//!
//! Source: <https://protobuf.dev/programming-guides/json/>. Parsers of ProtoJSON accept several spellings of a value. A draft accepts the
//! one that serialisers write, so that policies and receivers read one value. `docs/spec/import.md` has the table.

mod messages;
mod naming;
mod well_known;

use std::collections::BTreeMap;

use prost_reflect::{DescriptorPool, MessageDescriptor};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::terms::{ContextDraft, Terms};
use messages::Messages;
use naming::names;

/// The largest source, in bytes: that of all files of the largest known public interface, twice.
pub const MAX_BYTES: usize = 8 << 20;

/// The advice for a source that is too large.
const CHOOSE: &str = "choose messages with `--message`";

/// Descriptors of files, and the files whose messages are wanted.
#[derive(Debug, Clone)]
pub struct Descriptors {
    pool: DescriptorPool,
    /// Names of files.
    roots: Vec<String>,
}

/// The text of an imported file by its name, or none.
pub type OpenFile = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A resolver over the caller's texts.
struct Texts(OpenFile);

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match (self.0)(name) {
            Some(text) => File::from_source(name, &text),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

impl Descriptors {
    /// The descriptors in a `FileDescriptorSet`. Every file that no other file of the set imports is wanted.
    ///
    /// # Errors
    /// No such set, one that lacks an import, or a syntax other than proto2 and proto3.
    pub fn from_set(bytes: &[u8]) -> Result<Self, ImportFault> {
        if bytes.len() > MAX_BYTES {
            return Err(ImportFault::new(format_args!("the descriptors have more than {MAX_BYTES} bytes")));
        }
        let pool = DescriptorPool::decode(bytes).map_err(|_| {
            ImportFault::new("the file holds no `FileDescriptorSet`").hint(
                "write one with `protoc --include_imports --descriptor_set_out=FILE`, or give `.proto` files",
            )
        })?;
        let imported: Vec<String> =
            pool.file_descriptor_protos().flat_map(|file| file.dependency.clone()).collect();
        let roots = pool.files().map(|file| file.name().to_owned());
        let roots = roots.filter(|name| !imported.contains(name)).collect();
        Self { pool, roots }.known()
    }

    /// Compiles `.proto` files. `open` gives the text of each file and of each import; those of `google/protobuf/` are built in.
    ///
    /// # Errors
    /// A file that is missing or does not compile, or a syntax other than proto2 and proto3.
    pub fn compile(files: &[String], open: OpenFile) -> Result<Self, ImportFault> {
        let mut resolver = ChainFileResolver::new();
        resolver.add(GoogleFileResolver::new());
        resolver.add(Texts(open));
        let mut compiler = protox::Compiler::with_file_resolver(resolver);
        compiler.include_imports(true).include_source_info(true);
        for file in files {
            compiler.open_file(file).map_err(|fault| {
                let fault_text = fault.to_string();
                let refused = ImportFault::new(format_args!("`{file}`: {fault_text}"));
                if fault.is_file_not_found() {
                    refused.hint("name the folder of imports with `--include`")
                } else {
                    refused
                }
            })?;
        }
        Self { pool: compiler.descriptor_pool(), roots: files.to_vec() }.known()
    }

    /// Refuses syntaxes whose defaults nobody here knows.
    fn known(self) -> Result<Self, ImportFault> {
        for file in self.pool.file_descriptor_protos() {
            if !matches!(file.syntax(), "" | "proto2" | "proto3") {
                return Err(ImportFault::new(format_args!(
                    "`{}` has another syntax than proto2 and proto3",
                    file.name()
                ))
                .hint("editions are not read: compile the file as proto3"));
            }
        }
        Ok(self)
    }

    /// The descriptor of the message with this full name, or with this name in exactly one wanted package.
    fn message(&self, name: &str) -> Result<MessageDescriptor, ImportFault> {
        if let Some(message) = self.pool.get_message_by_name(name) {
            return Ok(message);
        }
        let ends = format!(".{name}");
        let all: Vec<MessageDescriptor> =
            self.pool.all_messages().filter(|message| message.full_name().ends_with(&ends)).collect();
        match all.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(ImportFault::new(format_args!("the source has no message `{name}`"))),
            several => {
                let names: Vec<&str> = several.iter().map(MessageDescriptor::full_name).collect();
                Err(ImportFault::new(format_args!("`{name}` is one of several messages"))
                    .hint(format_args!("give one of {}", names.join(", "))))
            }
        }
    }

    /// The wanted messages: those named, or every message at the top of a wanted file.
    fn wanted(&self, named: &[String]) -> Result<Vec<MessageDescriptor>, ImportFault> {
        if !named.is_empty() {
            return named.iter().map(|name| self.message(name)).collect();
        }
        let files = self.roots.iter().filter_map(|name| self.pool.get_file_by_name(name));
        Ok(files.flat_map(|file| file.messages().collect::<Vec<_>>()).collect())
    }

    /// Drafts a context: each wanted message is a concept, and each method of a wanted service a task, unless messages are named.
    ///
    /// # Errors
    /// An unknown message, nothing to draft, or a draft that is too large.
    pub fn draft(&self, named: &[String], naming: &Naming<'_>) -> Result<ContextDraft, ImportFault> {
        let wanted = self.wanted(named)?;
        let files = self.roots.iter().filter_map(|name| self.pool.get_file_by_name(name));
        let methods: Vec<_> = files
            .filter(|_| named.is_empty())
            .flat_map(|file| {
                file.services().flat_map(|service| service.methods().collect::<Vec<_>>()).collect::<Vec<_>>()
            })
            .collect();
        let names = names(&wanted, &methods);
        let comments: BTreeMap<_, _> = self.pool.file_descriptor_protos().map(messages::comments).collect();
        let mut messages = Messages::new(names, comments);
        messages.concepts(&wanted);
        messages.tasks(&methods);
        let mut terms: Terms = messages.terms();
        for what in [
            "one spelling counts for each value: json names of fields, names of enum values, texts for integers of 64 bits, `Z` in timestamps, padded base64. Parsers of ProtoJSON accept others, which are refused",
            "null is refused where it stands for an absent field, and so are fields that no descriptor names",
            "NaN and infinities are refused",
            "policies see a timestamp as text, for it may be finer than a millisecond",
        ] {
            terms.remark("", what);
        }
        terms.finish(naming, CHOOSE)
    }
}

#[cfg(test)]
mod tests;
