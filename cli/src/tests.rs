//! Tests of `main`.

use clap::CommandFactory;

/// Clap checks the arguments of a subcommand only when it is used.
#[test]
fn the_words_of_every_subcommand_are_consistent() {
    super::Cli::command().debug_assert();
}
